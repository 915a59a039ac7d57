"""List words to ask for: common English words in their base form, without repeats."""

from __future__ import annotations

VOCABULARY = tuple(
    """
    ability absence accident account acid acre action actor addition adult advance advice affair afternoon agency
    agreement aim album alley alliance amount ancestor angel anger ankle answer anxiety apology appeal appetite applause
    approval apron arch archive argument arm army arrow article artist aspect assembly athlete attempt attic audience
    author autumn avenue award bacon bag bakery balance balcony ball bamboo banana band banner barn basin battery battle
    bay beach bean beard beast bed beetle beginning belief bell belt bench benefit berry bicycle bill bird birth biscuit
    blade blame blood blossom board boat body bone book boot border bottom boundary bowl box boy brain brake brass bread
    breakfast breath brick bride brother brush bubble budget building bulb burden bus bush business butter butterfly
    cable cactus cafe cage cake calendar calm camera camp canal canvas cap capital captain car carbon card career cargo
    carrot cart cash cat cattle cause cave ceiling cell cement center century ceremony chain chair chalk chance change
    channel chapel chapter charge charm chart cheek cheese chef chest chicken chief child chimney chin chocolate choice
    church cinema citizen city claim class clay clerk cliff climate clock cloth cloud club coach coal coast coat coffee
    coin collar college colony color column comb comedy comfort comment company compass concert condition cook cord corn
    corner cost couch council country couple courage course court cousin cover cow crab craft cream creature credit crew
    crime crop cross crowd crown cup cure current curtain curve custom damage dance danger dark date daughter dawn day
    debate debt decade decision deck degree delay delight demand dentist depth design desk detail device diamond diary
    dinner direction dirt discovery disease dish distance district ditch doctor dog doll door doubt draft drama drawer
    dream dress drink driver drum duck dust duty ear earth east edge editor effect effort egg elbow election elephant
    emotion empire energy entry envelope error essay estate evening event example exit expert eye face fact factory
    failure fair faith family fan farm fashion father fault favor fear feast fee fence festival fever field fight figure
    film finger fire fish fist flag flash flavor fleet flight floor flour flower fly focus fog folk food foot fork form
    fortune fox frame friend frog frost fruit fuel funeral furniture future gallery game gap garage garlic gas gate gear
    gift giraffe girl glass globe glove glue goal goat gold goose grain grape grass gravity group growth guard guess
    guest guide gun habit hair half hall hand harvest hat head health heart heat heel height hero hill hint history hole
    holiday home hook hope horn horse hospital hotel hour house human hunger hunter husband ice idea image income index
    industry injury ink insect interest iron issue item jail jar jaw jewel job joke journey joy judge juice jury justice
    key kid king kiss kitchen knee knife knot knowledge label labor lake lamp land lane language laugh law lawyer layer
    leader leaf league leather lecture leg lesson letter level liberty library lid light limit line link lion lip liquid
    list liver load loan lobby log loss machine magic mail marble margin market mask master meal measure member memory
    merchant message metal method middle mind miner minute mirror mission mist mistake mixture model moment money
    monster month mood moon morning mother motion motor mouse mouth movie mud muscle museum mystery nail name nation
    nature neck nest night noise north nose note novel number
    """.split()
)
"""The words, more than 500, sorted."""
