package match

// labelWords are names of fields, in lower case and without punctuation, by the
// kind that they name. A name without a kind ends the search for a shorter one:
// "filename" is not the name of a person.
var labelWords = []struct {
	kind  Kind
	weak  bool
	words []string
}{
	{Email, false, []string{"email", "mail", "emailaddress", "emailaddr", "mailaddress", "correo", "correoelectronico", "courriel", "emailadresse", "mailto", "posta"}},
	{Phone, false, []string{"phone", "phonenumber", "phoneno", "phonenr", "phones", "tel", "telephone", "telephonenumber", "telno", "mobile", "mobilephone", "mobilenumber", "mobileno", "cell", "cellphone", "cellnumber",
		"fax", "faxnumber", "telefon", "telefonnummer", "telefonnr", "handy", "handynummer", "rufnummer", "mobil", "mobilnummer", "mobiltelefon", "téléphone", "numerodetelephone", "numérodetéléphone", "portable",
		"teléfono", "telefono", "móvil", "movil", "celular", "númerodeteléfono", "numerodetelefono", "cellulare", "numeroditelefono", "whatsapp", "msisdn", "landline", "festnetz", "homephone", "workphone", "contactnumber", "callback", "callbacknumber", "fon", "durchwahl"}},
	{SSN, false, []string{"ssn", "socialsecuritynumber", "socialsecurity", "socialsecurityno", "socialsecuritynum", "socsec", "ssnnumber"}},
	{Card, false, []string{"card", "cardnumber", "cardno", "cardnum", "creditcard", "creditcardnumber", "creditcardno", "ccnumber", "ccnum", "ccno", "debitcard", "debitcardnumber", "paymentcard", "visa", "mastercard", "amex",
		"kreditkarte", "kreditkartennummer", "kartennummer", "cartebancaire", "numerodecarte", "numérodecarte", "cartedecredit", "tarjeta", "tarjetadecrédito", "numerodetarjeta", "cartadicredito", "numerocarta", "primaryaccountnumber"}},
	{IBAN, false, []string{"iban", "ibannumber", "bankaccountiban"}},
	{Account, false, []string{"accountnumber", "accountno", "acctno", "acctnumber", "acctnum", "bankaccount", "bankaccountnumber", "kontonummer", "kontonr", "numerodecompte", "numérodecompte", "numerodecuenta", "númerodecuenta",
		"numerodiconto", "numeroconto", "routingnumber", "routingno", "abarouting", "aba", "abanumber", "sortcode", "sortingcode", "bankleitzahl", "blz"}},
	{IP, false, []string{"ip", "ipaddress", "ipaddr", "remoteaddr", "clientip", "remoteip", "sourceip", "ipv4", "ipv6", "xforwardedfor", "remotehost"}},
	{MAC, false, []string{"mac", "macaddress", "macaddr", "hwaddr", "hardwareaddress"}},
	{Address, true, []string{"address", "addr", "adresse", "anschrift", "dirección", "direccion", "indirizzo", "domicilio", "residence", "wohnort", "lieferadresse", "rechnungsadresse", "homeaddress"}},
	{Address, false, []string{"street", "streetaddress", "postaladdress", "mailingaddress", "shippingaddress", "billingaddress", "deliveryaddress", "addressline", "street1", "straße", "strasse", "strassehausnummer", "straßehausnummer", "rue", "calle", "via", "shipto", "deliverto", "postanschrift"}},
	{Name, true, []string{"name", "customer", "client", "contact", "owner", "author", "assignee", "reporter", "patient", "employee", "recipient", "sender", "manager", "attendee", "guest", "passenger", "tenant", "kunde", "kundin", "patientin", "mitarbeiter", "ansprechpartner",
		"client", "cliente", "paziente", "paciente", "bewerber", "from", "to", "cc", "bcc", "von", "an", "de", "da", "by", "user", "person", "signedby", "attn", "buyer", "seller", "mieter", "holder", "beneficiary", "lead", "candidate", "applicant", "member", "approver", "reviewer", "createdby", "updatedby", "approvedby", "requestedby", "reportedby"}},
	{Name, false, []string{"fullname", "firstname", "lastname", "givenname", "familyname", "surname", "middlename", "forename", "maidenname", "firstnames", "customername", "contactname", "clientname", "patientname", "employeename", "personname", "realname", "ownername", "accountholder",
		"accountholdername", "cardholder", "cardholdername", "nameoncard", "recipientname", "sendername", "vorname", "nachname", "familienname", "vollername", "kundenname", "kontoinhaber", "karteninhaber", "geburtsname", "prénom", "prenom", "nomdefamille", "nomcomplet", "nomduclient",
		"nombre", "nombrecompleto", "apellido", "apellidos", "cognome", "nomecompleto", "nomeecognome", "titulaire", "titular", "titolare", "emergencycontact", "nextofkin", "legalname", "mothersmaidenname", "spouse", "beneficiaryname", "guestname", "passengername"}},
	{Name, true, []string{"nom", "nome", "displayname", "username", "inhaber"}},
	{Birthdate, false, []string{"dob", "birthdate", "dateofbirth", "birthday", "birth", "born", "bornon", "geburtsdatum", "geburtstag", "geb", "geboren", "geborenam", "datedenaissance", "naissance", "néle", "néele", "née", "né", "fechadenacimiento", "fechanacimiento", "nacido", "nacida", "nacimiento",
		"datadinascita", "datanascita", "natoil", "nataail", "nascita", "birthdt", "bday"}},
	{Passport, false, []string{"passport", "passportnumber", "passportno", "passportnum", "reisepass", "reisepassnummer", "passnummer", "passeport", "numerodepasseport", "numérodepasseport", "pasaporte", "numerodepasaporte", "passaporto", "numeropassaporto"}},
	{Licence, false, []string{"driverslicense", "driverlicense", "driverslicence", "driverlicence", "drivinglicence", "drivinglicense", "driverslicensenumber", "driverlicensenumber", "drivinglicencenumber", "drivinglicencenumber", "dlnumber", "dlno", "licensenumber", "licencenumber",
		"führerschein", "fuehrerschein", "führerscheinnummer", "fuehrerscheinnummer", "permisdeconduire", "permisdeconducir", "carnetdeconducir", "patente", "patentediguida", "driverslicenseno", "driverslicenceno", "drivinglicenceno", "driverlicenseno"}},
	{NationalID, false, []string{"nationalid", "nationalidnumber", "nationalinsurance", "nationalinsurancenumber", "nino", "nhsnumber", "nhs", "nhsno", "steuerid", "steueridnr", "steueridentifikationsnummer", "steuernummer", "idnr", "taxid", "taxnumber", "taxidentificationnumber", "personalausweis", "personalausweisnummer", "ausweisnummer",
		"numerodesecuritesociale", "numérodesécuritésociale", "securitesociale", "sécuritésociale", "nir", "nss", "insee", "dni", "nie", "nif", "dninie", "codicefiscale", "codfiscale", "sozialversicherungsnummer", "svnummer", "rentenversicherungsnummer", "idcard", "idcardnumber", "itin", "identitycard"}},
	{VAT, false, []string{"vat", "vatid", "vatno", "vatnumber", "vatregno", "vatregistration", "vatregistrationnumber", "ustid", "ustidnr", "umsatzsteuerid", "umsatzsteueridentifikationsnummer", "tva", "numerotva", "numérotva", "tvaintracommunautaire", "numerodetva", "nifiva", "iva", "partitaiva", "piva", "btw", "btwnummer"}},
	{Secret, false, []string{"password", "passwd", "passphrase", "pwd", "secret", "secretkey", "apikey", "apitoken", "apisecret", "accesskey", "accesskeyid", "accesstoken", "authtoken", "refreshtoken", "bearertoken", "clientsecret", "privatekey", "secretaccesskey", "signingkey", "encryptionkey", "sessiontoken",
		"awssecretaccesskey", "kennwort", "passwort", "motdepasse", "contraseña", "contrasena", "dbpassword", "sharedsecret", "webhooksecret", "masterkey", "xapikey", "authkey", "pgpassword", "mysqlpwd", "accountkey", "sharedaccesskey", "connectionstring", "apppassword", "jwtsecret", "pin", "bottoken", "servicekey", "licensekey"}},
	{Secret, true, []string{"token", "credential", "credentials", "authorization", "auth", "pass", "key", "cookie", "setcookie", "sessionid", "session", "signature", "sig"}},
	{"", false, []string{"filename", "hostname", "classname", "tablename", "reponame", "repositoryname", "projectname", "toolname", "productname", "companyname", "tagname", "branchname", "packagename", "modulename", "servicename", "servername", "domainname", "pathname", "eventname", "methodname", "functionname",
		"fieldname", "columnname", "keyname", "groupname", "teamname", "rolename", "statusname", "filenames", "displaynames", "variablename", "dbname", "bucketname", "clustername", "nodename", "imagename", "containername", "planname", "filesname", "brandname", "cityname", "countryname", "statename", "organizationname", "organisationname", "orgname",
		"emailverified", "emailsent", "emailenabled", "emailtemplate", "emailid", "mailserver", "phoneverified", "phonetype", "mailtype", "emailtype", "cardtype", "cardbrand", "addresstype", "ipversion", "macos", "nametype", "tokens", "tokentype", "tokencount", "maxtokens", "totaltokens", "publickey", "primarykey", "foreignkey", "sortkey", "partitionkey", "cachekey", "idempotencykey", "keyid",
		"passwordpolicy", "passwordhash", "passwordlength", "passwordreset", "issuekey", "projectkey", "objectkey", "hotkey", "keycode", "contacttype", "clientid", "customerid", "userid", "contactid", "ownerid", "tokenlimit", "nexttoken", "pagetoken", "nextpagetoken", "continuationtoken", "cardid", "patentes", "walletaddress", "memoryaddress", "baseaddress", "contractaddress", "username", "login"}},
}

// contextWords are words that say what a number near them is about.
var contextWords = []struct {
	bit   Context
	words []string
}{
	{AboutPhone, []string{"call", "calls", "called", "dial", "ring", "sms", "reach", "phoned", "calling", "appel", "appelez", "appeler", "joindre", "llame", "llamar", "llámame", "llama", "chiama", "chiamare", "chiamami", "anrufen", "anruf", "erreichbar", "ruf", "rufen", "hotline", "telefonisch", "faxen", "voicemail", "mob", "ph"}},
	{AboutSSN, []string{"ssn", "social"}},
	{AboutCard, []string{"credit", "debit", "visa", "mastercard", "amex", "discover", "maestro", "jcb", "cc", "pan", "karte", "carte", "carta", "cards"}},
	{AboutAccount, []string{"account", "acct", "konto", "compte", "cuenta", "conto", "bank"}},
	{AboutRouting, []string{"routing", "aba", "sort", "blz", "bankleitzahl", "sortcode", "sortingcode"}},
	{AboutPassport, []string{"passport", "passports", "reisepass", "passeport", "pasaporte", "passaporto", "pass"}},
	{AboutLicence, []string{"licence", "license", "driver", "drivers", "driving", "dl", "führerschein", "fuehrerschein", "permis", "permiso", "carnet", "patente", "lic"}},
	{AboutNationalID, []string{"insurance", "nino", "nhs", "steuer", "steuerid", "idnr", "tax", "sécurité", "securite", "sociale", "insee", "dni", "nie", "nif", "fiscale", "ausweis", "personalausweis", "identity", "identification", "identité", "utr", "itin"}},
	{AboutVAT, []string{"vat", "ust", "ustid", "ustidnr", "tva", "iva", "btw", "moms", "mwst"}},
	{AboutBirth, []string{"born", "birth", "birthday", "dob", "geboren", "geb", "naissance", "né", "née", "nacido", "nacida", "nacimiento", "nato", "nata", "nascita", "geburtsdatum", "geburtstag"}},
	{AboutMAC, []string{"mac", "ether", "lladdr", "hwaddr", "bssid"}},
	{AboutSecret, []string{"secret", "password", "token", "apikey", "passwd", "bearer", "credential", "credentials", "auth", "passwort", "key", "keys"}},
	{AboutOrder, []string{"order", "orders", "invoice", "invoices", "tracking", "isbn", "issn", "sku", "ref", "reference", "ticket", "serial", "part", "model", "item", "product", "article", "artikel", "artikelnummer", "bestellung", "bestellnummer", "bestell", "rechnung", "rechnungsnummer", "rechnungsnr", "commande", "facture", "colis", "pedido", "factura", "seguimiento",
		"ordine", "fattura", "spedizione", "imei", "ean", "upc", "gtin", "asin", "case", "job", "build", "batch", "lot", "shipment", "parcel", "consignment", "sendungsnummer", "sendung", "transaction", "txn", "uuid", "guid", "hash", "sha", "checksum", "commit", "digest", "snowflake", "tweet", "po", "doi", "pmid", "arxiv", "rfc", "patent", "barcode", "meter",
		"offset", "seed", "pid", "bytes", "size", "count", "rows", "nonce", "block", "height", "epoch", "nanos", "micros", "ms", "ns", "price", "total", "amount", "sum", "eur", "usd", "gbp", "coordinates", "lat", "lon", "lng", "id", "ids", "quote", "contract", "inventory", "bug", "issue", "pr", "line", "lines", "error", "code", "errno", "trace", "span", "request", "session", "score", "population", "salary", "revenue", "budget"}},
	{AboutVersion, []string{"version", "v", "ver", "release", "timestamp", "time", "ts", "date", "datum", "created", "updated", "modified", "uptime", "firmware", "kernel", "chrome", "safari", "webkit", "applewebkit", "firefox", "gecko", "mozilla", "edg", "opr", "openssl", "oid", "schema", "section", "chapter", "figure", "table"}},
	{AboutMessage, []string{"messageid", "inreplyto", "references", "message"}},
	{AboutGreeting, []string{"dear", "hi", "hello", "hallo", "liebe", "lieber", "cher", "chère", "bonjour", "hola", "estimado", "estimada", "querido", "querida", "caro", "cara", "ciao", "gentile", "sincerely", "regards", "cheers", "thanks", "grüße", "grüßen", "cordialement", "saludos", "saluti", "attn", "contact"}},
}
