package regexp

// Patterns of this package, in its own language, that implement escapes.

const lineBreak = `(?>\x0d\x0a|[\x0a-\x0d\u0085\u2028\u2029])`

// graphemeCluster is \X: an extended grapheme cluster of UAX #29, table 1b.
const graphemeCluster = `(?>\r\n|` + gcControl + `|` + gcPrepend + `*(?:` +
	`[\u{1f1e6}-\u{1f1ff}]{2}|` +
	gcLeading + `*(?:[\uac00-\ud7a3]` + gcVowel + `*|` + gcVowel + `+)` + gcTrailing + `*|` +
	gcLeading + `+|` + gcTrailing + `+|` +
	gcPictograph + `(?:` + gcExtend + `*\u200d` + gcPictograph + `)*|` +
	`(?!` + gcControl + `)(?m:.))[` + gcExtend + `\u200d` + gcSpacing + `]*|(?m:.))`

const (
	gcControl  = `[\p{Cc}\p{Cf}\p{Zl}\p{Zp}&&[^` + gcExtend + `\u200d]&&[^` + gcPrepend + `]]`
	gcLeading  = `[\u1100-\u115f\ua960-\ua97c]`
	gcVowel    = `[\u1160-\u11a7\ud7b0-\ud7c6]`
	gcTrailing = `[\u11a8-\u11ff\ud7cb-\ud7fb]`
	gcExtend   = `[\p{Mn}\p{Me}\p{Other_Grapheme_Extend}\u{1f3fb}-\u{1f3ff}]`
	gcSpacing  = `[\u0e33\u0eb3[\p{Mc}&&[^\u102b\u102c\u1038\u1062-\u1064\u1067-\u106d\u1083\u1087-\u108c\u108f` +
		`\u109a-\u109c\u1a61\u1a63\u1a64\uaa7b\uaa7d]]]`
	gcPrepend = `[\u0600-\u0605\u06dd\u070f\u08e2\u0d4e\u{110bd}\u{110cd}\u{111c2}\u{111c3}\u{1193f}\u{11941}` +
		`\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}]`
	gcPictograph = `[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9-\u21aa\u231a-\u231b\u2328\u2388\u23cf\u23e9-\u23f3\u23f8-\u23fa` +
		`\u24c2\u25aa-\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716\u271d\u2721` +
		`\u2728\u2733-\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0\u27bf\u2934-\u2935` +
		`\u2b05-\u2b07\u2b1b-\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\u{1f000}-\u{1f0ff}\u{1f10d}-\u{1f10f}\u{1f12f}\u{1f16c}-\u{1f171}\u{1f17e}-\u{1f17f}\u{1f18e}` +
		`\u{1f191}-\u{1f19a}\u{1f1ad}-\u{1f1e5}\u{1f201}-\u{1f20f}\u{1f21a}\u{1f22f}\u{1f232}-\u{1f23a}\u{1f23c}-\u{1f23f}` +
		`\u{1f249}-\u{1f3fa}\u{1f400}-\u{1f53d}\u{1f546}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f774}-\u{1f77f}\u{1f7d5}-\u{1f7ff}\u{1f80c}-\u{1f80f}` +
		`\u{1f848}-\u{1f84f}\u{1f85a}-\u{1f85f}\u{1f888}-\u{1f88f}\u{1f8ae}-\u{1f8ff}\u{1f90c}-\u{1f93a}\u{1f93c}-\u{1f945}\u{1f947}-\u{1faff}` +
		`\u{1fc00}-\u{1fffd}]`
)
