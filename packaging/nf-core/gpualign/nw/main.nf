process GPUALIGN_NW {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "gpualign:0.1.0"

    input:
    tuple val(meta), path(sequences)

    output:
    tuple val(meta), path("${prefix}.${suffix}"), emit: table
    path "versions.yml", emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def memory = task.memory ? "--memory ${(task.memory.toMega() * 0.75).intValue()}M" : ''
    prefix = task.ext.prefix ?: "${meta.id}"
    suffix = task.ext.suffix ?: 'tsv'
    """
    gpualign nw \\
        $args \\
        --quiet \\
        --threads $task.cpus \\
        $memory \\
        --output ${prefix}.${suffix} \\
        $sequences

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gpualign: \$(gpualign --version | sed 's/.* //')
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    suffix = task.ext.suffix ?: 'tsv'
    """
    touch ${prefix}.${suffix}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gpualign: \$(gpualign --version | sed 's/.* //')
    END_VERSIONS
    """
}
