"""Ask the same request in fourteen languages and eight scripts, to be answered in that language.

The rules mean the same in every language. Rules that depend on a language (letters, words, commas, capitals) are left
out. What remains is the number of parts, a reference on the last line, and the language itself, which is judged.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.held_out.language import SAMPLES, AnswerIn
from adhere.constraints.kinds.trained.copying import Code
from adhere.constraints.kinds.trained.structure import Bullets, Lines, Numbered
from adhere.suites.generated.diagnostic.items import CITIES, NAMES
from adhere.suites.generated.family import Family, Item, Level, single


class Tongue(NamedTuple):
    """Holds the topics and the sentences of a request in one language."""

    topics: tuple[str, ...]
    bullets: str
    numbered: str
    lines: str
    code: str
    answer: str


_TOPICS = ("cats", "the sea", "bread", "winter", "music", "mountains")
_ENGLISH = Tongue(
    _TOPICS,
    'Write exactly {n} bullet points about {topic}, each on its own line that begins with "- ".',
    'Write a numbered list of exactly {n} points about {topic}, each on its own line: "1.", "2." and so on.',
    "Write exactly {n} lines about {topic}, without empty lines.",
    "Below that, the very last line must be the reference {code} and nothing else.",
    "Answer in {language}.",
)
_TONGUES: dict[str, Tongue] = {
    "German": Tongue(
        ("Katzen", "das Meer", "Brot", "den Winter", "Musik", "Berge"),
        'Schreibe genau {n} Stichpunkte über {topic}, jeden in einer eigenen Zeile, die mit "- " beginnt.',
        "Schreibe eine nummerierte Liste mit genau {n} Punkten über {topic}, jeden in einer eigenen Zeile: "
        '"1.", "2." und so weiter.',
        "Schreibe genau {n} Zeilen über {topic}, ohne Leerzeilen.",
        "Darunter muss als allerletzte Zeile die Kennung {code} stehen und sonst nichts.",
        "Antworte auf Deutsch.",
    ),
    "French": Tongue(
        ("les chats", "la mer", "le pain", "l'hiver", "la musique", "les montagnes"),
        'Écris exactement {n} points sur {topic}, chacun sur sa propre ligne qui commence par "- ".',
        'Écris une liste numérotée d\'exactement {n} points sur {topic}, chacun sur sa propre ligne : "1.", "2.", etc.',
        "Écris exactement {n} lignes sur {topic}, sans ligne vide.",
        "En dessous, la toute dernière ligne doit être la référence {code} et rien d'autre.",
        "Réponds en français.",
    ),
    "Spanish": Tongue(
        ("los gatos", "el mar", "el pan", "el invierno", "la música", "las montañas"),
        'Escribe exactamente {n} puntos sobre {topic}, cada uno en su propia línea que empiece con "- ".',
        "Escribe una lista numerada de exactamente {n} puntos sobre {topic}, cada uno en su propia "
        'línea: "1.", "2.", etc.',
        "Escribe exactamente {n} líneas sobre {topic}, sin líneas vacías.",
        "Debajo, la última línea debe ser la referencia {code} y nada más.",
        "Responde en español.",
    ),
    "Italian": Tongue(
        ("i gatti", "il mare", "il pane", "l'inverno", "la musica", "le montagne"),
        'Scrivi esattamente {n} punti su questo tema: {topic}. Ognuno su una riga propria che inizia con "- ".',
        "Scrivi un elenco numerato di esattamente {n} punti su questo tema: {topic}. Ognuno su una riga propria: "
        '"1.", "2." e così via.',
        "Scrivi esattamente {n} righe su questo tema: {topic}. Senza righe vuote.",
        "Sotto, l'ultima riga deve essere il riferimento {code} e nient'altro.",
        "Rispondi in italiano.",
    ),
    "Portuguese": Tongue(
        ("os gatos", "o mar", "o pão", "o inverno", "a música", "as montanhas"),
        'Escreva exatamente {n} pontos sobre {topic}, cada um em sua própria linha que comece com "- ".',
        "Escreva uma lista numerada com exatamente {n} pontos sobre {topic}, cada um em sua própria "
        'linha: "1.", "2." etc.',
        "Escreva exatamente {n} linhas sobre {topic}, sem linhas vazias.",
        "Abaixo, a última linha deve ser a referência {code} e nada mais.",
        "Responda em português.",
    ),
    "Polish": Tongue(
        ("koty", "morze", "chleb", "zima", "muzyka", "góry"),
        "Napisz punkty na temat: {topic}. Punktów ma być dokładnie {n}, każdy w osobnym wierszu, "
        'który zaczyna się od "- ".',
        "Napisz numerowaną listę na temat: {topic}. Punktów ma być dokładnie {n}, każdy w osobnym wierszu: "
        '"1.", "2." i tak dalej.',
        "Napisz tekst na temat: {topic}. Wierszy ma być dokładnie {n}, bez pustych.",
        "Pod spodem, w ostatnim wierszu, musi stać oznaczenie {code} i nic więcej.",
        "Odpowiedz po polsku.",
    ),
    "Russian": Tongue(
        ("кошки", "море", "хлеб", "зима", "музыка", "горы"),
        "Напиши список на тему «{topic}». Пунктов должно быть ровно {n}, каждый на отдельной строке, "
        'которая начинается с "- ".',
        "Напиши нумерованный список на тему «{topic}». Пунктов должно быть ровно {n}, каждый на отдельной строке: "
        '"1.", "2." и так далее.',
        "Напиши текст на тему «{topic}». Строк должно быть ровно {n}, без пустых.",
        "Ниже, на самой последней строке, должен стоять номер {code} и больше ничего.",
        "Ответь на русском языке.",
    ),
    "Turkish": Tongue(
        ("kediler", "deniz", "ekmek", "kış", "müzik", "dağlar"),
        'Şu konuda tam {n} madde yaz: {topic}. Her madde, "- " ile başlayan ayrı bir satırda olsun.',
        "Şu konuda tam {n} maddelik numaralı bir liste yaz: {topic}. Her madde ayrı bir satırda "
        'olsun: "1.", "2." gibi.',
        "Şu konuda tam {n} satır yaz: {topic}. Boş satır olmasın.",
        "Altında, en son satırda yalnızca {code} numarası bulunmalı.",
        "Türkçe yanıt ver.",
    ),
    "Greek": Tongue(
        ("γάτες", "θάλασσα", "ψωμί", "χειμώνας", "μουσική", "βουνά"),
        'Γράψε ακριβώς {n} σημεία με θέμα «{topic}», το καθένα σε δική του γραμμή που αρχίζει με "- ".',
        'Γράψε μια αριθμημένη λίστα με ακριβώς {n} σημεία με θέμα «{topic}», το καθένα σε δική του γραμμή: "1.", '
        '"2." και ούτω καθεξής.',
        "Γράψε ακριβώς {n} γραμμές με θέμα «{topic}», χωρίς κενές γραμμές.",
        "Από κάτω, η τελευταία γραμμή πρέπει να είναι ο κωδικός {code} και τίποτε άλλο.",
        "Απάντησε στα ελληνικά.",
    ),
    "Arabic": Tongue(
        ("القطط", "البحر", "الخبز", "الشتاء", "الموسيقى", "الجبال"),
        'اكتب {n} نقاط بالضبط عن {topic}، كل نقطة في سطر مستقل يبدأ بـ "- ".',
        'اكتب قائمة مرقمة من {n} نقاط بالضبط عن {topic}، كل نقطة في سطر مستقل: "1." ثم "2." وهكذا.',
        "اكتب {n} أسطر بالضبط عن {topic}، من دون أسطر فارغة.",
        "وفي الأسفل يجب أن يكون السطر الأخير هو الرمز {code} ولا شيء غيره.",
        "أجب باللغة العربية.",
    ),
    "Hindi": Tongue(
        ("बिल्लियाँ", "समुद्र", "रोटी", "सर्दी", "संगीत", "पहाड़"),
        '"{topic}" विषय पर ठीक {n} बिंदु लिखो, हर बिंदु अपनी अलग पंक्ति में हो, जो "- " से शुरू हो।',
        ('"{topic}" विषय पर ठीक {n} बिंदुओं की क्रमांकित सूची लिखो, हर बिंदु अपनी अलग पंक्ति में हो: "1.", "2." इत्यादि।'),
        '"{topic}" विषय पर ठीक {n} पंक्तियाँ लिखो, कोई खाली पंक्ति न हो।',
        "उसके नीचे सबसे आखिरी पंक्ति में केवल संकेत {code} हो, और कुछ नहीं।",
        "हिंदी में उत्तर दो।",
    ),
    "Japanese": Tongue(
        ("猫", "海", "パン", "冬", "音楽", "山"),
        "{topic}について、ちょうど{n}個の箇条書きを書いてください。それぞれ「- 」で始まる別々の行にしてください。",
        "{topic}について、ちょうど{n}項目の番号付きリストを書いてください。それぞれ「1.」「2.」のように別々の行にしてください。",
        "{topic}について、ちょうど{n}行で書いてください。空行は入れないでください。",
        "その下の一番最後の行には、整理番号 {code} だけを書いてください。",
        "日本語で答えてください。",
    ),
    "Chinese": Tongue(
        ("猫", "大海", "面包", "冬天", "音乐", "山"),
        "请写出关于{topic}的恰好{n}个要点，每个要点单独一行，以“- ”开头。",
        "请写出关于{topic}的编号列表，恰好{n}项，每项单独一行：“1.”、“2.”，依此类推。",
        "请写出关于{topic}的恰好{n}行文字，不要空行。",
        "在下面，最后一行只能是编号 {code}，不能有其他内容。",
        "请用中文回答。",
    ),
    "Korean": Tongue(
        ("고양이", "바다", "빵", "겨울", "음악", "산"),
        '{topic}에 대해 정확히 {n}개의 항목을 쓰세요. 각 항목은 "- "로 시작하는 별도의 줄에 쓰세요.',
        '{topic}에 대해 정확히 {n}개의 항목으로 된 번호 목록을 쓰세요. 각 항목은 별도의 줄에 "1.", "2."처럼 쓰세요.',
        "{topic}에 대해 정확히 {n}줄을 쓰세요. 빈 줄은 넣지 마세요.",
        "그 아래 맨 마지막 줄에는 번호 {code}만 쓰고 다른 것은 쓰지 마세요.",
        "한국어로 답하세요.",
    ),
}
LANGUAGES = tuple(_TONGUES)


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw one item in every language; by level also with a reference to copy, and asked in English."""
    at, count = rng.randrange(len(_TOPICS)), rng.randint(3, 8)
    shape = rng.choice((Bullets, Numbered, Lines))
    code = f"{rng.choice('KMRTX')}{rng.choice('BDFGH')}-{rng.randint(1000, 9999)}"
    sender = f"— {rng.choice(NAMES)}, {rng.choice(CITIES)}, {rng.randint(6, 21)}:{rng.randint(10, 59)}"
    items = []
    for language, own in _TONGUES.items():
        words = own if level < 2 else _ENGLISH
        form = {Bullets: words.bullets, Numbered: words.numbered, Lines: words.lines}[shape]
        sentences = [form.format(n=count, topic=words.topics[at])]
        # The reference comes below the lines about the topic, so it is one line more.
        constraints: list[Constraint] = [AnswerIn(language), shape(count + (level > 0 and shape is Lines))]
        roles = ["language", "form"]
        rows = [_ROW[shape].format(number, SAMPLES[language]) for number in range(1, count + 1)]
        if level:
            sentences.append(words.code.format(code=code))
            constraints.append(Code(code))
            roles.append("form")
            rows.append(code)
        sentences.append(words.answer.format(language=language))
        text = f"{' '.join(sentences)}\n{sender}"
        items.append(single(text, constraints, "\n".join(rows), roles=tuple(roles), variant=language))
    return items


_ROW: dict[type[Constraint], str] = {Bullets: "- {1}", Numbered: "{0}. {1}", Lines: "{1}"}

FAMILY = Family(
    name="multilingual",
    answers="Does it follow the same rules in other languages, and answer in the language asked for?",
    paper="Multi-IF, arXiv 2410.15553; Qwen2.5's multilingual IFEval, arXiv 2412.15115",
    levels=(
        Level("form", "a number of parts, asked in the language of the answer"),
        Level("form and reference", "and a reference to copy to the last line"),
        Level("asked in English", "the same, asked in English"),
    ),
    draw=draw,
    groups=3,
    version="2",
    max_new_tokens=768,
)
