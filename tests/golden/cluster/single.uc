S	0	1	*	*	*	*	*	epsilon	*
H	0	12	100.0	+	0	0	M11D	alpha	epsilon
H	0	11	100.0	+	0	0	M10D	beta	epsilon
H	0	14	100.0	+	0	0	13DM	gamma	epsilon
H	0	12	100.0	+	0	0	M11D	zeta	epsilon
S	1	8	*	*	*	*	*	delta	*
C	0	5	*	*	*	*	*	epsilon	*
C	1	1	*	*	*	*	*	delta	*
