params.genes = 'genes.fasta'
params.shares = 8

process share {
    cpus 16
    memory '8 GB'

    input:
    tuple val(number), path(genes)

    output:
    path "scores.tsv.${number}-of-${params.shares}.part"

    script:
    "gpualign nw ${genes} -o scores.tsv --shard ${number}/${params.shares} --threads ${task.cpus} --memory 6G"
}

process merge {
    publishDir '.', mode: 'move'

    input:
    path parts

    output:
    path 'scores.tsv'

    script:
    "gpualign merge ${parts} -o scores.tsv"
}

workflow {
    numbers = Channel.of(1..params.shares)
    share(numbers.combine(Channel.fromPath(params.genes)))
    merge(share.out.collect())
}
