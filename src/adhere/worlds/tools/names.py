"""Made-up names of people, goods and places, for tasks."""

PEOPLE = (
    "Ada Brook", "Ben Carter", "Cleo Dunn", "Dev Eriksen", "Edda Finch", "Femi Grant", "Gus Holt", "Hana Ito",
    "Ines Jara", "Jon Kerr", "Kaya Lund", "Leo Moreau",
)  # fmt: skip
GOODS = ("lamp", "kettle", "desk", "radio", "tent", "clock", "scarf", "drill", "globe", "stool")
STREETS = ("4 Mill Lane", "19 Harbour Road", "7 Orchard Close", "52 Station Street", "11 Castle Hill", "30 River Walk")
