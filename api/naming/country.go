package naming

import "strings"

// countryNames has the code of each country, followed by its name.
const countryNames = "" +
	"ADAndorra;AEUnited Arab Emirates;AFAfghanistan;AGAntigua & Barbuda;AIAnguilla;ALAlbania;AMArmenia;AOAngola;" +
	"AQAntarctica;ARArgentina;ASAmerican Samoa;ATAustria;AUAustralia;AWAruba;AXÅland Islands;AZAzerbaijan;" +
	"BABosnia & Herzegovina;BBBarbados;BDBangladesh;BEBelgium;BFBurkina Faso;BGBulgaria;BHBahrain;BIBurundi;BJBenin;" +
	"BLSt. Barthélemy;BMBermuda;BNBrunei;BOBolivia;BQCaribbean Netherlands;BRBrazil;BSBahamas;BTBhutan;" +
	"BVBouvet Island;BWBotswana;BYBelarus;BZBelize;CACanada;CCCocos (Keeling) Islands;CDCongo - Kinshasa;" +
	"CFCentral African Republic;CGCongo - Brazzaville;CHSwitzerland;CICôte d’Ivoire;CKCook Islands;CLChile;" +
	"CMCameroon;CNChina;COColombia;CRCosta Rica;CUCuba;CVCape Verde;CWCuraçao;CXChristmas Island;CYCyprus;CZCzechia;" +
	"DEGermany;DJDjibouti;DKDenmark;DMDominica;DODominican Republic;DZAlgeria;ECEcuador;EEEstonia;EGEgypt;" +
	"EHWestern Sahara;EREritrea;ESSpain;ETEthiopia;FIFinland;FJFiji;FKFalkland Islands;FMMicronesia;FOFaroe Islands;" +
	"FRFrance;GAGabon;GBUnited Kingdom;GDGrenada;GEGeorgia;GFFrench Guiana;GGGuernsey;GHGhana;GIGibraltar;" +
	"GLGreenland;GMGambia;GNGuinea;GPGuadeloupe;GQEquatorial Guinea;GRGreece;" +
	"GSSouth Georgia & South Sandwich Islands;GTGuatemala;GUGuam;GWGuinea-Bissau;GYGuyana;HKHong Kong;" +
	"HMHeard & McDonald Islands;HNHonduras;HRCroatia;HTHaiti;HUHungary;IDIndonesia;IEIreland;ILIsrael;IMIsle of Man;" +
	"INIndia;IOBritish Indian Ocean Territory;IQIraq;IRIran;ISIceland;ITItaly;JEJersey;JMJamaica;JOJordan;JPJapan;" +
	"KEKenya;KGKyrgyzstan;KHCambodia;KIKiribati;KMComoros;KNSt. Kitts & Nevis;KPNorth Korea;KRSouth Korea;KWKuwait;" +
	"KYCayman Islands;KZKazakhstan;LALaos;LBLebanon;LCSt. Lucia;LILiechtenstein;LKSri Lanka;LRLiberia;LSLesotho;" +
	"LTLithuania;LULuxembourg;LVLatvia;LYLibya;MAMorocco;MCMonaco;MDMoldova;MEMontenegro;MFSt. Martin;MGMadagascar;" +
	"MHMarshall Islands;MKNorth Macedonia;MLMali;MMMyanmar (Burma);MNMongolia;MOMacao;MPNorthern Mariana Islands;" +
	"MQMartinique;MRMauritania;MSMontserrat;MTMalta;MUMauritius;MVMaldives;MWMalawi;MXMexico;MYMalaysia;MZMozambique;" +
	"NANamibia;NCNew Caledonia;NENiger;NFNorfolk Island;NGNigeria;NINicaragua;NLNetherlands;NONorway;NPNepal;NRNauru;" +
	"NUNiue;NZNew Zealand;OMOman;PAPanama;PEPeru;PFFrench Polynesia;PGPapua New Guinea;PHPhilippines;PKPakistan;" +
	"PLPoland;PMSt. Pierre & Miquelon;PNPitcairn Islands;PRPuerto Rico;PSPalestinian Territories;PTPortugal;PWPalau;" +
	"PYParaguay;QAQatar;RERéunion;RORomania;RSSerbia;RURussia;RWRwanda;SASaudi Arabia;SBSolomon Islands;SCSeychelles;" +
	"SDSudan;SESweden;SGSingapore;SHSt. Helena;SISlovenia;SJSvalbard & Jan Mayen;SKSlovakia;SLSierra Leone;" +
	"SMSan Marino;SNSenegal;SOSomalia;SRSuriname;SSSouth Sudan;STSão Tomé & Príncipe;SVEl Salvador;SXSint Maarten;" +
	"SYSyria;SZEswatini;TCTurks & Caicos Islands;TDChad;TFFrench Southern Territories;TGTogo;THThailand;TJTajikistan;" +
	"TKTokelau;TLTimor-Leste;TMTurkmenistan;TNTunisia;TOTonga;TRTürkiye;TTTrinidad & Tobago;TVTuvalu;TWTaiwan;" +
	"TZTanzania;UAUkraine;UGUganda;UMU.S. Outlying Islands;USUnited States;UYUruguay;UZUzbekistan;VAVatican City;" +
	"VCSt. Vincent & Grenadines;VEVenezuela;VGBritish Virgin Islands;VIU.S. Virgin Islands;VNVietnam;VUVanuatu;" +
	"WFWallis & Futuna;WSSamoa;YEYemen;YTMayotte;ZASouth Africa;ZMZambia;ZWZimbabwe;XKKosovo"

// countries are the names by code.
var countries = func() map[string]string {
	all := make(map[string]string)
	for entry := range strings.SplitSeq(countryNames, ";") {
		all[entry[:2]] = entry[2:]
	}
	return all
}()

// Country returns the name of the country with a code of ISO 3166-1 alpha-2 in upper case; the code, if it has none.
func Country(code string) string {
	if name, ok := countries[code]; ok {
		return name
	}
	return code
}

// Flag returns the flag of a country that has a name; "" of any other.
func Flag(code string) string {
	if countries[code] == "" {
		return ""
	}
	const a = '\U0001F1E6'
	return string([]rune{a + rune(code[0]-'A'), a + rune(code[1]-'A')})
}
