"""List words that say nothing about a request: the commonest, those about a text's form, and those that fit anything.

The words are English. What is left of an answer without them and without the request's own words is what the answer
says.
"""

from __future__ import annotations

FUNCTION = frozenset(
    "a about above across after again against ah all almost alone along already also although always am among an "
    "and another any anyone anything are aren't around as at away back be became because been before being below "
    "between both but by can can't cannot could couldn't dear did didn't do does doesn't doing don't done down "
    "during each either else enough even ever every everyone everything few for from further get gets getting go "
    "goes going got had has hasn't have haven't having he hello her here hers herself hey hi him himself his how "
    "however i i'd i'll i'm i've if in indeed into is isn't it it's its itself just let let's like lot lots many "
    "may maybe me mine more most much must my myself neither never no nobody none nor not nothing now of off often "
    "oh ok okay on once one ones only or other others our ours ourselves out over own perhaps please quite rather "
    "really same shall she should since so some somebody someone something sometimes sorry still such sure than "
    "thank thanks that that's the their theirs them themselves then there there's therefore these they they're this "
    "those though through thus to too toward towards under until up upon us very via was wasn't we we'll we're "
    "we've well were weren't what what's whatever when whenever where whether which while who whole whom whose why "
    "will with within without won't would wouldn't yes yet you you'd you'll you're you've your yours yourself".split()
)
FORM = frozenset(
    "above answer answered answers asked begin beginning begins below blank body bullet bullets capital capitalized "
    "capitals case character characters comma commas complete completed compliance complies comply conclusion "
    "constraint constraints contain contained contains content correct correctly detail details double draft drafts "
    "eight end ended ending ends english entire everything exactly example examples fifth final finally finish "
    "finished first five follow followed following follows form format formatted formatting four fourth given "
    "header heading headings highlight highlighted include included includes including instructed instruction "
    "instructions intro introduction item items json key keyword keywords language least length letter letters line "
    "lines list lists long lowercase main mark marks maximum meet meets message met minimum most nine note number "
    "numbered numbers obey obeys output page paragraph paragraphs part parts per phrase phrases placeholder "
    "placeholders point points postscript precisely prompt prompts punctuation quotation quotations quote quotes "
    "replies reply request requested requests require required requirement requirements requires respond responding "
    "response responses rule rules sample satisfied satisfies satisfy second section sections sentence sentences "
    "seven short six specified start started starting starts summary symbol task tasks template ten text texts "
    "third three thrice times title titled twice two uppercase value version word words write writes writing "
    "written wrote".split()
)
GENERIC = frozenset(
    "activities activity advantage advantages cons disadvantage disadvantages goes laugh occasion pros "
    "able access addition additional additionally aim always amazing anybody anyone apologies apologise apologize "
    "apply appreciate appreciated approach appropriate appropriately area areas article aspect aspects assist "
    "assistance asterisk asterisks attention available aware based basic basically basis beautiful become benefit "
    "benefits best better big biography bit blog brief bring brings call cannot care careful carefully case cases "
    "certain certainly challenge challenges change changes character characters choice choices choose circumstances "
    "clear clearly close come comes common complex compose composed comprehensive conclusion consider considered "
    "considering context conversation could countless craft crafted create created creates creating crucial current "
    "currently data day days decide decision definitely delighted deliver delivered depend depending depends "
    "despite detail details different difficult discuss discussed discussing due easy effect effective effort "
    "element elements email endless engaging enjoy enjoyed ensure error especially essay essential essentially "
    "event events every everybody excellent exciting exist expect experience experiences explain explained "
    "explaining explore exploring express extremely face fact factor factors famous fascinating feel feels finally "
    "find fine firstly fit focus friendly fulfil fulfill full fun funny furthermore general generally generate "
    "generated give given gives giving glad gladly good great greatly guide hand handle happen happens happy hard "
    "help helped helpful helping helps high hope hopefully hour hours huge idea ideas immediately impact importance "
    "important importantly impossible improve incredible individual individuals info information insight insights "
    "instance instead interest interested interesting involve involved involves issue issues it'll itinerary "
    "journey keep keeps kind kindly kinds know knowledge known knows large last lastly later lead leads learn "
    "learned learning leave less lesson lessons level life likely little look looking looks love lovely low made "
    "make makes making manner markdown matter matters mean meaningful means memorable mention mentioned mind minute "
    "minutes moment momentarily more moreover much multiple nature necessary need needed needs never new next nice "
    "numerous obvious obviously occasion occur offer offers old open opinion opinions option options order "
    "ourselves overall particular particularly patient people perfect perfectly person personal perspective "
    "perspectives piece place plan play plays pleasure poem poems point polite positive possible possibly post "
    "posts powerful preferences prepare prepared present pretty problem problems process produce produced proper "
    "properly provide provided provides providing purpose put question questions quick quickly range ready real "
    "reason reasons receive recent refer regard regarding regardless related relevant remember result results "
    "rewrite right role said say saying says script secondly see seem seems seen send sense separate separated "
    "serious seriously set several share shared sharing shortly show shows side significant significantly similar "
    "simple simply situation situations small solution solutions somewhere soon sort special specific specifically "
    "stanza stanzas step steps story strange style subject success successful suggest suitable summary support "
    "surely system take taken takes taking talk talking taught teach teaches tell telling tells thing things think "
    "thinking thirdly thorough thoroughly thought thoughtful thoughts time today together told topic topics total "
    "totally tried truly try trying turn type types unable unavailable understand understanding understood "
    "unfortunately unique up use used useful uses using usual usually valuable various vary view views wait want "
    "wanted wants way ways week weeks weird welcome whole wide willing wish wonder wonderful wondering work working "
    "works world worth wrong year years yourself".split()
)
NOTHING = FUNCTION | FORM | GENERIC
"""Words that an answer to any request may be made of."""

# The commonest words of languages in Latin letters; a text of a dozen words has several of its own.
COMMONEST = {
    "en": frozenset(
        "a about all an and are as at be been but by can could do for from had has have he her him his how i if in "
        "is it its just make many me my no not of on one or our so some than that the their them then these they "
        "this to was we were what when which who will with would you your".split()
    ),
    "de": frozenset(
        "aber auch auf bei das dem den der des die ein eine einen es für hat ich im ist mit nach nicht oder sich "
        "sie sind und von werden wie wir wird zu".split()
    ),
    "fr": frozenset(
        "au aux avec c'est ce cette d'un d'une dans des du elle est et il je la le les leur mais ne nous ou par pas "
        "plus pour que qui se sont sur un une vous être".split()
    ),
    "es": frozenset(
        "al como con cuando del el en entre es esta este la las le lo los muy más no o para pero por porque que se "
        "son su sus sí un una y ya".split()
    ),
    "it": frozenset(
        "al alla anche che come con da dei del della di e gli ha il la le lo ma nel non per più questo si sono suo "
        "un una è".split()
    ),
    "pt": frozenset(
        "a ao as com como da das de do dos e ele em eu já mais mas muito nos não o os ou para por quando que seu "
        "sua também um uma é".split()
    ),
    "nl": frozenset(
        "aan als bij dan dat de deze een en er heeft het ik in is je maar met naar niet nog om ook op te van voor "
        "wordt zijn".split()
    ),
}
