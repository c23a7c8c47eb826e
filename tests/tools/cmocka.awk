# SPDX-License-Identifier: MIT
#
# Read what a cmocka program printed and say how it went:
#
#   passed failed skipped
#   skip NAME: REASON
#   fail NAME
#
# The lines of the single tests are counted, never those of the summary at the
# end, which repeats names.  A test may print in front of its own result line,
# so the marks are searched for within a line.  What a program announced and
# did not report has failed: it crashed or ended early.

function mark(text,    at) {
	at = index($0, text)
	if (!at)
		return 0
	rest = substr($0, at + length(text))
	sub(/[ \r]+$/, "", rest)
	return 1
}

# "[==========] Running 3 test(s)." or "[==========] name: Running 3 test(s)."
/\[==========\].*Running [0-9]+ test\(s\)/ {
	n = $0
	sub(/.*Running /, "", n)
	announced += n + 0
	groups++
	inside = 1
	next
}

# "[==========] 3 test(s) run." (or "name: 3 test(s) run.")
/\[==========\].*[0-9]+ test\(s\) run\./ {
	inside = 0
	ended++
	next
}

!inside { next }

mark("[ RUN      ] ") { current = rest; reason = ""; next }
mark("[       OK ] ") { ok++; current = ""; next }
mark("[  FAILED  ] ") {
	# Failed fixtures of a group are no announced test.
	if (rest ~ /^GROUP (SETUP|TEARDOWN)$/)
		extra++
	bad++
	fails[++nfails] = rest
	current = ""
	next
}
mark("[  SKIPPED ] ") {
	skip++
	skips[++nskips] = rest (reason == "" ? "" : ": " reason)
	current = ""
	next
}
mark("skipped: ") { reason = rest }

END {
	missing = announced - (ok + bad - extra + skip)
	if (missing > 0 && !extra) {
		bad += missing
		if (status == 124 || status == 137)
			why = "did not end within " limit " s"
		else
			why = "ended early, status " status
		if (current != "")
			fails[++nfails] = current " (the program " why ")"
		if (missing > (current != ""))
			fails[++nfails] = missing - (current != "") \
				" tests did not run (the program " why ")"
	} else if (!groups) {
		bad++
		fails[++nfails] = "no test ran, status " status
	} else if (status != 0 && !bad) {
		# All passed, and then it crashed or leaked.
		bad++
		fails[++nfails] = "the program ended with status " status \
			" after its tests"
	}
	print ok + 0, bad + 0, skip + 0
	for (i = 1; i <= nskips; i++)
		print "skip " skips[i]
	for (i = 1; i <= nfails; i++)
		print "fail " fails[i]
}
