package tally

// Country is a country's position in countryCodes, from 1; 0 is unknown. Its numbers are part of
// the journal's and the store's formats.
type Country uint8

// countryCodes are the codes of ISO 3166-1 alpha-2 as of 2024, and XK (Kosovo, user-assigned). New
// ones go to the end.
const countryCodes = "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCN" +
	"COCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIO" +
	"IQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNG" +
	"NINLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTM" +
	"TNTOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSYEYTZAZMZWXK"

var countryNumbers = func() (numbers [26 * 26]Country) {
	for i := 0; i < len(countryCodes); i += 2 {
		numbers[countryPlace(countryCodes[i], countryCodes[i+1])] = Country(i/2 + 1)
	}
	return numbers
}()

func countryPlace(a, b byte) int { return int(a-'A')*26 + int(b-'A') }

// CountryOf returns the country with an ISO 3166-1 alpha-2 code in either case, or 0 if no country
// has it.
func CountryOf[S string | []byte](code S) Country {
	if len(code) != 2 {
		return 0
	}
	a, b := code[0]&^0x20, code[1]&^0x20
	if a < 'A' || a > 'Z' || b < 'A' || b > 'Z' {
		return 0
	}
	return countryNumbers[countryPlace(a, b)]
}

// String returns the country's code, or "unknown".
func (c Country) String() string {
	if c == 0 || int(c) > len(countryCodes)/2 {
		return unknownValue
	}
	end := 2 * int(c)
	return countryCodes[end-2 : end]
}
