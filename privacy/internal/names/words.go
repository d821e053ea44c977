package names

import (
	"strings"
	"sync"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/dates"
)

// Role is a set of bits: what a word can be in a name.
type Role uint8

// The bits of a Role.
const (
	first     Role = 1 << iota
	last           // a surname
	ambiguous      // an ordinary word too: Mark, Rose, Grace
	Title          // Mr, Frau
	stop           // begins sentences, or names things
	particle       // von, de la
	Month          // March, avril
)

var roles = sync.OnceValue(func() map[string]Role {
	m := make(map[string]Role, 2400)
	for _, row := range []struct {
		role  Role
		words string
	}{
		{first, firstNames}, {first | ambiguous, ambiguousFirstNames}, {last, lastNames}, {last | ambiguous, ambiguousLastNames},
		{Title, titles}, {stop, stopWords}, {particle, particles}, {Month, dates.Months},
	} {
		for w := range strings.FieldsSeq(row.words) {
			m[w] |= row.role
		}
	}
	// A plain first name is not ambiguous, even if it is in another list.
	for w := range strings.FieldsSeq(firstNames) {
		m[w] &^= stop | ambiguous
	}
	return m
})

// RoleOf is what a word of up to 24 bytes can be in a name.
func RoleOf(word []byte) Role {
	var store [24]byte
	lower := char.Lower(&store, word)
	for _, c := range lower {
		if c >= 0x80 {
			return roles()[strings.ToLower(string(word))]
		}
	}
	return roles()[string(lower)]
}

const titles = "mr mrs ms miss mx dr prof professor sir dame herr herrn frau fräulein mme mlle monsieur madame mademoiselle señor señora señorita don doña sr sra srta sig signor signora signorina dott dottor dottoressa ing avv mgr rev"

const particles = "von van der den de la le du da di del della dos das zu zur vom ten ter bin ibn al el y e af av"

// firstNames are common in English, German, French, Spanish and Italian, and are
// hardly ever anything else.
const firstNames = "james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey gary jacob nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick raymond dennis jerry tyler aaron jose nathan henry zachary douglas peter adam kyle noah ethan jeremy walter keith roger terry harry ralph " +
	"sean jesse bryan billy bruce louis gabriel logan albert alan juan wayne randy roy vincent russell philip bobby johnny bradley howard fred ernest craig leonard shawn nathaniel derek liam oliver elijah lucas owen caleb isaac connor evan adrian dylan ian hugh nigel graham trevor colin stuart clive gareth callum duncan alastair rupert angus fergus declan niall " +
	"mary patricia jennifer linda elizabeth barbara susan jessica sarah karen nancy lisa betty margaret sandra ashley kimberly emily donna michelle carol amanda dorothy melissa deborah stephanie rebecca laura sharon cynthia kathleen amy angela shirley anna brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn janet catherine maria heather diane ruth julie olivia joyce kelly christina lauren joan evelyn judith megan cheryl andrea hannah jacqueline martha gloria teresa ann sara madison frances kathryn janice jean abigail alice julia judy sophia denise amber doris marilyn danielle beverly isabella theresa diana natalie brittany marie kayla alexis lori " +
	"eleanor charlotte amelia imogen freya phoebe zoe gemma fiona siobhan niamh bethany tracy kirsty harriet beatrice matilda priya aisha fatima mohammed muhammad ahmed ali omar hassan ibrahim yusuf khalid raj rahul sanjay anil vijay deepak amit arjun rohan sunita anjali kavita lakshmi wei jing ming xiao hiroshi kenji yuki takashi akira haruto sakura yoko jin soo nguyen minh linh anh hans jürgen klaus wolfgang uwe dieter helmut günter gunter bernd horst manfred heinz gerhard werner karl friedrich heinrich wilhelm otto andreas stefan thorsten torsten matthias markus marcus jens sven jan lars dirk ralf holger olaf axel rainer jochen volker ulrich dietmar norbert rüdiger rudolf sebastian tobias florian philipp lukas felix leon jonas maximilian moritz fabian dominik christoph johannes niklas simon tim " +
	"ursula renate monika helga karin ingrid gisela brigitte petra sabine susanne birgit heike kerstin silke anke katrin kathrin martina gabriele claudia anja tanja nadine melanie steffi katharina johanna lena leonie lea marlene greta frieda mathilda ilse hildegard gerda elke jutta bärbel christa waltraud annette bettina ulrike cornelia franziska carina svenja jana maren wiebke antje " +
	"jacques pierre michel andré andre philippe alain bernard christophe frédéric frederic laurent nicolas stéphane stephane sébastien pascal olivier thierry éric gérard gerard françois francois julien maxime antoine guillaume hugo théo theo mathieu matthieu benoît benoit étienne etienne yves guy didier jérôme jerome ludovic rémi remi xavier cédric cedric emmanuel baptiste clément clement quentin luc marcel marc rené gilles serge " +
	"nathalie isabelle sylvie catherine françoise francoise monique martine valérie valerie véronique veronique sandrine céline celine aurélie aurelie émilie emilie chloé chloe camille manon léa margaux juliette élise elise hélène helene geneviève genevieve brigitte corinne delphine virginie sophie audrey mathilde élodie elodie noémie amélie margot clémence solène anaïs agnès jeanne " +
	"antonio josé manuel francisco javier carlos miguel alejandro rafael pedro ángel fernando luis pablo sergio jorge alberto álvaro alvaro raúl raul enrique ramón ramon vicente andrés andres joaquín joaquin ignacio óscar oscar rubén ruben iván diego mario santiago eduardo víctor roberto jaime ricardo emilio salvador jesús gonzalo mateo " +
	"carmen ana isabel dolores pilar josefa rosario cristina marta lucía lucia elena raquel beatriz nuria silvia rocío rocio montserrat inés ines julia irene mercedes concepción paula alba sofía sofia valentina ximena esperanza consuelo yolanda encarnación lourdes guadalupe gabriela mariana daniela catalina fernanda " +
	"giuseppe giovanni francesco luigi angelo vincenzo pietro salvatore carlo franco domenico bruno paolo michele giorgio aldo luciano andrea matteo lorenzo alessandro davide riccardo federico stefano simone gabriele filippo fabio massimo maurizio claudio marco luca roberto gianluca nicola enrico alessio emanuele tommaso edoardo giacomo leonardo dario " +
	"giulia chiara francesca federica sara martina valentina alessia elisa silvia ilaria giorgia elena beatrice camilla lucia paola alessandra roberta simona giovanna rosa angela antonella caterina eleonora serena monica bianca ginevra rita stefania daniela raffaella patrizia tiziana " +
	"ivan dmitri sergei vladimir alexei nikolai mikhail olga natalia tatiana svetlana irina ekaterina piotr krzysztof andrzej katarzyna agnieszka małgorzata magdalena tomasz wojciech jakub erik magnus björn ingrid astrid sigrid maarten pieter joost femke anneke willem saskia zoltán istván jános ioana mihai andrei dimitri dimitris konstantinos eleni joão paulo tiago beatriz inês mehmet mustafa ayşe fatma emre elif yasmin leila layla samir tariq karim nadia salma amina erika ilona hannelore edith käthe lieselotte margarete anneliese rosemarie elfriede irmgard ottilie xenia chidi ngozi kwame amara tunde sanjeev vikram nikhil siddharth meera pooja neha divya"

// ambiguousFirstNames are also ordinary words, or names of places, months and
// things.
const ambiguousFirstNames = "mark will grace rose frank art bill jack christian page jordan paris chase dean hunter austin dallas georgia virginia florence victoria jackson max sandy drew gene ray rob pat sue van faith hope joy angel dawn eve ken lance mason miles nick penny pierce ruby summer autumn victor wade ward warren april may june carter taylor parker morgan cooper lincoln brooke reed grant cole clay cliff dale glen heath jay joe sam tom jim bob ben dan don ed tim ron rich bud rod skip buck chip chuck curt ernest frank gale guy harper hazel holly iris ivy jade jasper jewel kit lane leo lily mercy misty olive opal patience pearl piper poppy presley prince prudence randy reed rex robin rusty savannah scarlett sierra stone sterling sunny terry violet willow wren carol ivory crystal ginger kay bea art ada ajax alba alma alexa siri cortana chase chris alex casey blake avery riley quinn rowan river sky sage dakota kim lee lynn mina nova luna stella aurora celeste sol dolores pilar mercedes salvador santiago angel rosario bianca rosa jean rene clement roman milan florian felix otto benedict august constant gay randy dick peter hans jan tim theo ali marco diana isabella jesse simone ann eric scott alan jose ming wei simon carlo roy soo"

// lastNames are common surnames that are hardly ever anything else.
const lastNames = "smith johnson williams jones davis rodriguez martinez hernandez lopez gonzalez wilson anderson thomas moore martin thompson garcia ramirez lewis robinson perez sanchez harris nguyen torres roberts phillips evans edwards collins stewart morris murphy rogers peterson kelly gomez kim cox richardson watson chavez bennett mendoza ruiz hughes alvarez castillo sanders patel myers ross foster jimenez powell jenkins perry sullivan henderson coleman simmons patterson jordan reynolds hamilton graham gonzales vasquez alexander kowalski novak ivanov petrov " +
	"griffin wallace moreno hayes bryant herrera gibson ellis tran medina aguilar stevens murray ford castro marshall owens harrison fernandez mcdonald woods washington kennedy vargas henry freeman webb tucker guzman burns crawford olson simpson porter gordon mendez silva shaw snyder dixon munoz hunt hicks holmes palmer wagner robertson boyd salazar warren mills meyer rice schmidt garza daniels ferguson nichols stephens soto weaver gardner payne dunn kelley spencer hawkins arnold pierce vazquez hansen peters santos knight elliott cunningham carroll hudson duncan armstrong berry andrews ortiz wheeler carpenter greene lawrence " +
	"o'brien o'connor o'neill o'sullivan mccarthy mcdonald mckenzie macdonald campbell mitchell khan hussain begum ahmed kaur singh sharma gupta kumar verma mehta shah reddy iyer rao nair chowdhury banerjee mukherjee desai joshi kapoor malhotra chatterjee wang zhang liu chen yang huang zhao wu zhou xu zhu lin tanaka suzuki sato takahashi watanabe yamamoto nakamura kobayashi kato park choi jung kang " +
	"müller mueller schneider fischer weber becker schulz hoffmann schäfer schaefer koch bauer richter klein schröder schroeder neumann schwarz zimmermann braun krüger krueger hofmann hartmann schmitt schmitz krause meier lehmann schmid schulze maier köhler koehler herrmann könig koenig walter mayer huber kaiser fuchs lang scholz möller moeller weiß weiss jung hahn schubert vogel friedrich keller günther berger winkler lorenz baumann franke albrecht schuster böhm winter kraus schumacher krämer vogt stein jäger groß sommer seidel heinrich brandt haas schreiber graf dietrich ziegler kuhn kühn pohl engel horn busch bergmann voigt sauer arnold wolff pfeiffer " +
	"bernard dubois durand leroy moreau laurent lefebvre lefèvre bertrand roux morel fournier girard bonnet dupont lambert fontaine rousseau vincent muller faure mercier blanc guerin guérin boyer garnier chevalier francois legrand gauthier gautier perrin robin clement morin nicolas roussel mathieu masson marchand duval denis dumont lemaire noel meyer dufour meunier brun blanchard giraud joly riviere rivière lucas brunet gaillard barbier arnaud martinez gerard roche renard schmitt roy leroux colin vidal caron picard fabre renaud " +
	"garcía gonzález rodríguez fernández lópez martínez sánchez pérez gómez martín jiménez hernández díaz diaz moreno muñoz álvarez romero alonso gutiérrez navarro torres domínguez vázquez ramos gil ramírez serrano blanco molina morales suárez ortega delgado castro ortiz rubio marín sanz núñez iglesias medina garrido cortés castillo santos lozano guerrero cano prieto méndez cruz calvo gallego vidal león márquez herrera peña flores cabrera campos vega fuentes carrasco reyes caballero nieto aguilar pascual santana " +
	"rossi russo ferrari esposito bianchi romano colombo ricci marino greco gallo conti mancini costa giordano rizzo lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara galli martini leone longo gentile martinelli vitale lombardo serra coppola ferri parisi villa conte ferraro fabbri bianco marini grasso valentini messina sala gatti pellegrini palumbo sanna farina rizzi monti cattaneo morelli amato silvestri mazza testa grassi pellegrino carbone giuliani benedetti barone " +
	"jensen nielsen hansen pedersen andersen johansen larsen olsen eriksson karlsson nilsson lindqvist lindberg johansson svensson virtanen korhonen kowalczyk wiśniewski nowak lewandowski kamiński dąbrowski zieliński popescu ionescu papadopoulos yılmaz kaya demir öztürk okafor adeyemi mensah abebe van-dijk jansen bakker visser smit de-vries silva santos oliveira souza pereira ferreira almeida costa carvalho gomes ribeiro"

// ambiguousLastNames are also ordinary words.
const ambiguousLastNames = "brown miller taylor white clark walker young allen king wright scott hill green baker hall rivera carter turner parker cook morgan cooper bailey reed howard ward long price wood brooks gray james watson bell flores butler fisher cole west day stone rose black reyes cruz hunter hart fox page lane field fields park parks banks bishop may berry little rich rice lamb wolf bird marsh moss pope french english holland glass frost snow winter summer summers love noble church temple may church grant ford lee harper mason burke powers strong sharp swift wise goodman newman chapman archer fletcher shepherd potter porter barber skinner cross bush bond booth barker chambers dean duke garrison gates gill glover goff hale harding head house jordan joy knight lake land law law lowe lynn marks max mead mill mills moon nelson oak palmer payne pike poole rush sage sellers shields short singer small smart steel steele sutton tate tanner todd travers vance vaughn waters wells wheeler wilder wilkins winters wolfe york adams martin laurent robin vincent klein lang jung graf kaiser horn engel stein vogel koch keller weber berg petit richard simon michel robert david andre leroy blanc roux brun noel roche lambert mercier marino conti costa serra villa sala testa monti leone longo gentile amato torres cruz campos vega fuentes flores blanco rubio cano delgado ramos santos castillo luna sol silva"

// stopWords occur with a capital behind first names but are not names of persons.
const stopWords = "the a an and or but for with without from into onto over under about after before when while where which who whom what why how this that these those is are was were be been being has have had do does did can could will would shall should may might must not no yes if then else than as at by in of on to up we you he she it they i my your his her its our their " +
	"street road avenue lane drive boulevard court place square park bridge river lake hill mountain island bay beach city town county state university college school academy institute hospital clinic church cathedral chapel museum library theatre theater stadium airport station hotel restaurant cafe bar pub inn store shop market bank center centre building tower hall house castle palace garden gardens " +
	"inc ltd llc gmbh corp corporation company co plc ag sa srl spa group holdings partners associates foundation trust fund society association club union council committee commission department ministry agency bureau office team project program programme initiative conference award awards prize medal cup trophy league championship tournament festival day week month year christmas easter " +
	"api sdk cli http https json xml html css sql url uri id uuid jwt oauth rest graphql grpc tcp udp ip dns tls ssl ssh ftp smtp imap aws gcp azure linux windows macos ios android java javascript typescript python ruby rust go php perl swift kotlin scala node react angular vue django rails spring docker kubernetes redis postgres mysql sqlite mongodb kafka nginx apache git github gitlab " +
	"error warning info debug test tests testing example examples sample demo server client service services system systems software hardware network database table index key value file files folder directory path page pages section chapter figure table list item items type types class classes method methods function functions interface struct field fields object objects array string number integer boolean null true false " +
	"monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica " +
	"north south east west northern southern eastern western central new old great big little upper lower first second third last next previous final general special public private national international american british english french german spanish italian european chinese japanese indian russian canadian australian mexican irish scottish welsh dutch swedish " +
	"theorem lemma algorithm law effect equation formula principle conjecture distribution process transform series model method test syndrome disease award effect constant function space tree filter coding code cipher hash number numbers sort search machine engine protocol framework library toolkit studio edition version release update beta alpha pro plus premium standard enterprise cloud mobile web app apps platform solutions technologies technology tech labs lab media news times post journal magazine review press books book records music film films pictures studios entertainment games game sports fitness health care medical pharmacy insurance finance financial capital ventures investments consulting management marketing sales support customer order orders product products price invoice payment account report reports status summary total notes note subject date time name email phone address " +
	"and und oder aber der die das ein eine mit von zu im am ist sind war et ou mais le la les un une des avec pour dans sur est sont y o pero el los las un una con por para en es son e ma il lo gli uno con per nel nella sono has says said asked added wrote told replied called please thanks thank hello hi dear best kind regards sincerely yours cheers signed sent re fw fwd cc bcc via see also here there now today tomorrow yesterday"
