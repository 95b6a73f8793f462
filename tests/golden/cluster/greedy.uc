S	0	14	*	*	*	*	*	gamma	*
H	0	12	100.0	+	0	0	12M2I	alpha	gamma
H	0	11	91.7	+	0	0	7MI4M2I	beta	gamma
H	0	1	100.0	+	0	0	13IM	epsilon	gamma
H	0	12	100.0	+	0	0	12M2I	zeta	gamma
S	1	8	*	*	*	*	*	delta	*
C	0	5	*	*	*	*	*	gamma	*
C	1	1	*	*	*	*	*	delta	*
