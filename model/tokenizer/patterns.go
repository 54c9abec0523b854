package tokenizer

import (
	"math"
	"strings"
)

// The regular expressions that published tokenizer.json files hold, and the scanners that do what
// they say. Anything else is refused by name.
const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaces       = `|\s*[\r\n]+|\s+(?!\S)|\s+`

	patternLlama3 = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaces
	patternQwen2  = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaces
	patternQwen35 = contractions + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*` + spaces

	caseRise      = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	caseFall      = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	patternGPT4o  = caseRise + contractions + `?|` + caseFall + contractions + `?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + spaces
	patternTekken = caseRise + `|` + caseFall + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + spaces

	patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

	// The same in other words: possessive repeats and one newline after \s* change nothing here.
	patternCL100K = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`
	patternLLaDA  = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`

	patternMiniCPM5 = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaces

	patternDigit    = `\p{N}`
	patternDigits3  = `\p{N}{1,3}`
	patternCJK      = `[一-龥぀-ゟ゠-ヿ]+`
	patternDeepSeek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" + spaces
)

// knownPattern returns the scanner of a pattern and whether it matches every character.
func knownPattern(regex string) (s splitter, full, ok bool) {
	// Some files hold the line breaks themselves, others their escapes.
	regex = strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(regex)
	switch regex {
	case patternLlama3, patternCL100K:
		return words{newClasses(), isLetter, 3}, true, true
	case patternQwen2, patternLLaDA:
		return words{newClasses(), isLetter, 1}, true, true
	case patternMiniCPM5:
		return words{newClasses(), isLetter, math.MaxInt}, true, true
	case patternQwen35:
		return words{newClasses(), isLetter | isMark, 1}, true, true
	case patternGPT4o:
		return casedWords{newClasses(), 3, true}, true, true
	case patternTekken:
		return casedWords{newClasses(), 1, false}, true, true
	case patternGPT2:
		return gpt2Words{newClasses()}, true, true
	case patternDigit:
		return numbers{newClasses(), 1}, false, true
	case patternDigits3:
		return numbers{newClasses(), 3}, false, true
	case patternCJK:
		return cjk{}, false, true
	case patternDeepSeek:
		return deepSeekWords{newClasses()}, false, true
	}
	return nil, false, false
}
