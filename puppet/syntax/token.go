package syntax

import "bolt/internal/excerpt"

// A kind is the kind of a token.
type kind uint8

const (
	tEOF   kind = iota
	tBad        // the lexer has an error, or the parser stopped
	tOther      // a character that cannot begin a token

	tName
	tWord // a bare word that is not a name: _x, a-b
	tTypeName
	tVar
	tNumber
	tString
	tDQPre  // "…${ or "…$
	tDQMid  // }…${
	tDQPost // }…"
	tRegexp
	tHeredoc // @(…); the tokens of its text follow
	tRenderText
	tRenderExpr
	tEPPStart
	tEPPEnd

	tListStart // [ after a blank
	tLBrack    // [ that touches the token before it
	tRBrack
	tLBrace
	tSelBrace // { after ?
	tRBrace
	tLParen
	tWSLParen // ( as the first token on its line
	tRParen

	tDot
	tComma
	tSemi
	tColon
	tPipe
	tAt
	tAtAt
	tQMark

	tEquals
	tAppends
	tDeletes
	tFArrow
	tPArrow
	tInEdge
	tInEdgeSub
	tOutEdge
	tOutEdgeSub
	tLCollect
	tLLCollect
	tRCollect
	tRRCollect

	tEq
	tNe
	tMatch
	tNoMatch
	tLt
	tLe
	tGt
	tGe
	tLShift
	tRShift
	tPlus
	tMinus
	tTimes
	tDiv
	tModulo
	tNot

	tTrue
	tFalse
	// The keywords from here on can be names of attributes.
	tAnd
	tApply
	tAttr
	tCase
	tClass
	tDefault
	tDefine
	tElse
	tElsif
	tFunction
	tIf
	tIn
	tInherits
	tNode
	tOr
	tPlan
	tPrivate
	tType
	tUndef
	tUnless

	kinds
)

// A token is a token of the grammar.
type token struct {
	kind     kind
	off, end uint32
	text     string // of names, words, numbers, keywords; the value of strings
}

// keyword returns the kind of a name or a keyword.
func keyword(name string, tasks bool) kind {
	if len(name) < 2 || len(name) > 8 {
		return tName
	}
	switch name {
	case "case":
		return tCase
	case "class":
		return tClass
	case "default":
		return tDefault
	case "define":
		return tDefine
	case "if":
		return tIf
	case "elsif":
		return tElsif
	case "else":
		return tElse
	case "inherits":
		return tInherits
	case "node":
		return tNode
	case "and":
		return tAnd
	case "or":
		return tOr
	case "undef":
		return tUndef
	case "false":
		return tFalse
	case "true":
		return tTrue
	case "in":
		return tIn
	case "unless":
		return tUnless
	case "function":
		return tFunction
	case "type":
		return tType
	case "attr":
		return tAttr
	case "private":
		return tPrivate
	case "plan":
		if tasks {
			return tPlan
		}
	case "apply":
		if tasks {
			return tApply
		}
	}
	return tName
}

// kindText is the text of a kind of token, for those that always have the same
// text.
var kindText = [kinds]string{
	tListStart: "[", tLBrack: "[", tRBrack: "]", tLBrace: "{", tSelBrace: "{", tRBrace: "}",
	tLParen: "(", tWSLParen: "(", tRParen: ")", tDot: ".", tComma: ",", tSemi: ";", tColon: ":",
	tPipe: "|", tAt: "@", tAtAt: "@@", tQMark: "?", tEquals: "=", tAppends: "+=", tDeletes: "-=",
	tFArrow: "=>", tPArrow: "+>", tInEdge: "->", tInEdgeSub: "~>", tOutEdge: "<-", tOutEdgeSub: "<~",
	tLCollect: "<|", tLLCollect: "<<|", tRCollect: "|>", tRRCollect: "|>>",
	tEq: "==", tNe: "!=", tMatch: "=~", tNoMatch: "!~", tLt: "<", tLe: "<=", tGt: ">", tGe: ">=",
	tLShift: "<<", tRShift: ">>", tPlus: "+", tMinus: "-", tTimes: "*", tDiv: "/", tModulo: "%", tNot: "!",
	tEPPEnd: "%>",
}

// Shortened truncates a part of a text for a message.
func Shortened(text string) string {
	return excerpt.Begin(text, 100)
}

// describe describes a token for a message.
func (t *token) describe() string {
	switch t.kind {
	case tEOF:
		return "end of the text"
	case tName, tWord, tTypeName, tNumber, tOther:
		return "'" + Shortened(t.text) + "'"
	case tVar:
		return "variable $" + Shortened(t.text)
	case tString, tDQPre:
		return "string"
	case tDQMid, tDQPost:
		return "end of the interpolation"
	case tRegexp:
		return "regular expression"
	case tHeredoc:
		return "heredoc"
	case tRenderText:
		return "text of the template"
	case tRenderExpr:
		return "'<%='"
	case tEPPStart:
		return "beginning of the template"
	}
	if t.kind >= tTrue {
		return "word '" + t.text + "'"
	}
	return "'" + kindText[t.kind] + "'"
}

// Binary operators: their precedence (0: not a binary operator) and their Op. ?
// does not have the same form but is included.
var (
	tightness = [kinds]uint8{
		tIn: 11, tMatch: 10, tNoMatch: 10, tTimes: 9, tDiv: 9, tModulo: 9, tPlus: 8, tMinus: 8,
		tLShift: 7, tRShift: 7, tEq: 6, tNe: 6, tGt: 5, tGe: 5, tLt: 5, tLe: 5,
		tQMark: 4, tAnd: 3, tOr: 2,
	}
	operator = [kinds]Op{
		tIn: In, tMatch: Match, tNoMatch: NoMatch, tTimes: Mul, tDiv: Div, tModulo: Mod, tPlus: Add, tMinus: Sub,
		tLShift: Shl, tRShift: Shr, tEq: Eq, tNe: Ne, tGt: Gt, tGe: Ge, tLt: Lt, tLe: Le, tAnd: And, tOr: Or,
		tEquals: Set, tAppends: Append, tDeletes: Remove,
		tInEdge: Before, tInEdgeSub: Notify, tOutEdge: After, tOutEdgeSub: Subscribes,
	}
)

// begins marks the tokens that can begin an expression or a resource.
var begins = [kinds]bool{
	tName: true, tWord: true, tTypeName: true, tVar: true, tNumber: true, tString: true, tDQPre: true,
	tRegexp: true, tHeredoc: true, tRenderText: true, tRenderExpr: true,
	tListStart: true, tLBrack: true, tLBrace: true, tLParen: true, tWSLParen: true,
	tAt: true, tAtAt: true, tMinus: true, tTimes: true, tNot: true,
	tTrue: true, tFalse: true, tApply: true, tAttr: true, tCase: true, tClass: true, tDefault: true,
	tDefine: true, tFunction: true, tIf: true, tNode: true, tPlan: true, tPrivate: true, tType: true,
	tUndef: true, tUnless: true,
}

// divides marks the tokens after which a slash is a division.
var divides = [kinds]bool{
	tRParen: true, tRBrack: true, tRRCollect: true, tRCollect: true,
	tName: true, tTypeName: true, tNumber: true, tString: true, tTrue: true, tFalse: true,
	tDQPre: true, tDQMid: true, tDQPost: true, tHeredoc: true, tRegexp: true, tVar: true, tWord: true,
}
