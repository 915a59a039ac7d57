"""List the facts about the published suites that need none of their files.

These are what a suite asks, where its files are, and under which licence. One row describes one suite. Loaders are
imported when a file is read.
"""

from __future__ import annotations

from typing import NamedTuple


class HubFile(NamedTuple):
    """Names one file of a data set on the Hugging Face hub or of a repository on GitHub, at one revision.

    `revision` is `main` if we know no other. `host` is `hub` or `github`.
    """

    repository: str
    path: str
    revision: str = "main"
    host: str = "hub"


class Origin(NamedTuple):
    """Says where a suite's file is published.

    Attributes:
        url: The address of the official repository or data set.
        files: The files of the suite in that place.
        licence: The licence of the data, as stated there.
        given: What to write behind the colon of the suite's name.
        hub: The files that `adhere fetch` downloads; empty: a person gets them from `url`.
    """

    url: str
    files: str
    licence: str
    given: str
    hub: tuple[HubFile, ...] = ()

    @property
    def short(self) -> str:
        """The origin in short: `hub: google/IFEval` or `GitHub: allenai/IFBench`."""
        if self.hub and self.hub[0].host == "hub":
            return f"hub: {self.hub[0].repository}"
        place, slash, name = self.url.removeprefix("https://").partition("/")
        return f"{'GitHub' if place == 'github.com' else 'hub'}: {name.removeprefix('datasets/')}" if slash else place


class ListedSuite(NamedTuple):
    """Describes one published suite; fields as in `suites.Source`.

    Its loader is `function` of `module`, or, if `constant` is given, a reader of rows as that constant says.
    """

    name: str
    usage: str
    size: int | None
    max_new_tokens: int
    paper: str
    answers: str
    what: str
    origin: Origin
    module: str
    constant: str | None = None
    function: str = "load"

    @property
    def needs_judge(self) -> bool:
        """Whether some constraints are undecided until `adhere judge` has asked a model."""
        return self.module.startswith("judged.") or self.name.endswith("-judged")


_GITHUB = "https://github.com/"
_IFBENCH_FILE = HubFile(
    "allenai/IFBench", "data/IFBench_test.jsonl", "cb932e352a505306ad0115272211df14bb8f628f", "github"
)
_IFBENCH = Origin(
    f"{_GITHUB}{_IFBENCH_FILE.repository}", _IFBENCH_FILE.path, "ODC-BY-1.0", "IFBench_test.jsonl", (_IFBENCH_FILE,)
)
_FOLLOWBENCH = Origin(f"{_GITHUB}YJiangcm/FollowBench", "data/*_constraints.json", "Apache-2.0", "data")

CATALOG = (
    ListedSuite(
        "ifeval",
        "ifeval:PATH (JSON lines in IFEval's format)",
        541,
        1280,
        "arXiv 2311.07911",
        "Does it follow 25 kinds of checkable instruction, as the field reports it?",
        "IFEval: 25 kinds; the published file has 541 prompts and 834 instructions.",
        Origin(
            f"{_GITHUB}google-research/google-research/tree/master/instruction_following_eval",
            "data/input_data.jsonl",
            "Apache-2.0",
            "input_data.jsonl",
            (HubFile("google/IFEval", "ifeval_input_data.jsonl", "966cd89545d6b6acfd7638bc708b98261ca58e84"),),
        ),
        "ifeval_rows.ifeval",
        "IFEVAL",
    ),
    ListedSuite(
        "ifbench",
        "ifbench:PATH (JSON lines in IFEval's format)",
        300,
        2048,
        "arXiv 2507.02833",
        "Does it follow 58 kinds of instruction that no training set has?",
        "IFBench: 58 kinds, checkers of 2026; the published file has 300 prompts and 344 instructions.",
        _IFBENCH,
        "ifeval_rows.ifbench",
        "IFBENCH",
    ),
    ListedSuite(
        "ifbench-2025",
        "ifbench-2025:PATH (JSON lines in IFEval's format)",
        294,
        2048,
        "arXiv 2507.02833",
        "As ifbench, for numbers that were reported before its revision of 2026.",
        "IFBench with the checkers of 2025; then 294 prompts and 335 instructions.",
        _IFBENCH._replace(
            files="data/IFBench_test.jsonl of 2025, in its history",
            hub=(_IFBENCH_FILE._replace(revision="8a66c069755e98b8d0871829751da9fd7b6ce8f0"),),
        ),
        "ifeval_rows.ifbench_2025",
        "IFBENCH_2025",
    ),
    ListedSuite(
        "iftrain",
        "iftrain:PATH (JSON lines in IFEval's format)",
        None,
        2048,
        "arXiv 2507.02833",
        "Does it follow the instructions that IF-RLVR trains on?",
        "IFTrain: the 29 training kinds of open-instruct, and IFEval's.",
        Origin(
            "https://huggingface.co/datasets/allenai/IF_multi_constraints_upto5",
            "data/*.parquet, turned into IFEval's rows",
            "ODC-BY-1.0",
            "rows.jsonl",
        ),
        "ifeval_rows.iftrain",
        "IFTRAIN",
    ),
    ListedSuite(
        "ifbench-two-turn",
        "ifbench-two-turn:FILE (rows with messages, instruction_id_list and kwargs)",
        None,
        2048,
        "arXiv 2507.02833",
        "Does it follow an instruction that comes one turn after the request?",
        "IFBench's two-turn set: a request and its answer are given, and the next message adds the constraint.",
        Origin(
            "https://huggingface.co/datasets/allenai/IFBench_multi-turn",
            "ifbench_constraints/test-*.parquet and ifeval_constraints/test-*.parquet",
            "ODC-BY-1.0",
            "test-00000-of-00001.parquet",
        ),
        "decided.ifbench_two_turn",
    ),
    ListedSuite(
        "ifeval-pp",
        "ifeval-pp:PATH (IFEval's rows with keys as 1000:original, 1000:rephrasing:1)",
        None,
        2048,
        "arXiv 2512.14754",
        "Is it still right when the same instructions come in ten variants?",
        "IFEval++: IFEval's prompts in ten variants each, by its authors' checkers; worst case is their reliable@10.",
        Origin(
            f"{_GITHUB}jianshuod/IFEval-pp",
            "assets/ifeval_pp_verified.jsonl",
            "none stated in the repository: ask its authors before you pass it on",
            "ifeval_pp_verified.jsonl",
        ),
        "ifeval_rows.ifeval_pp",
    ),
    ListedSuite(
        "nemotron-rl",
        "nemotron-rl:PATH (IFEval's rows, with id in place of key)",
        None,
        2048,
        "arXiv 2507.02833 (its kinds)",
        "Does it follow the instructions that Nemotron's reinforcement learning trains on?",
        "Nemotron-RL-instruction_following: prompts to train on, by IFTrain's kinds and IFEval's.",
        Origin(
            "https://huggingface.co/datasets/nvidia/Nemotron-RL-instruction_following",
            "its JSON lines",
            "Apache-2.0, as NeMo Gym states",
            "rows.jsonl",
        ),
        "ifeval_rows.iftrain",
        "NEMOTRON_RL",
    ),
    ListedSuite(
        "m-ifeval",
        "m-ifeval:PATH (es_, fr_, ja_ or en_input_data.jsonl)",
        None,
        1280,
        "arXiv 2502.04688",
        "Does it follow checkable instructions that were written in Spanish, French and Japanese?",
        "M-IFEval in Spanish, French and Japanese; adhere[mifeval] counts Spanish and Japanese words.",
        Origin(
            f"{_GITHUB}shisa-ai/M-IFEval",
            "data/es_input_data.jsonl, data/fr_input_data.jsonl, data/ja_input_data.jsonl",
            "Apache-2.0",
            "es_input_data.jsonl",
        ),
        "ifeval_rows.mifeval",
        "M_IFEVAL",
    ),
    ListedSuite(
        "multi-if",
        "multi-if:FILE (the CSV, or its rows as JSON lines), multi-if:FILE@Hindi+Thai",
        4501,
        1024,
        "arXiv 2410.15553",
        "Does it still follow as instructions add up over three turns, in eleven languages?",
        "Multi-IF: IFEval's kinds over up to three turns, counted by language; "
        "Thai words and sentences stay undecided.",
        Origin(
            f"{_GITHUB}facebookresearch/Multi-IF",
            "multiIF_20241018.csv of facebook/Multi-IF on the Hugging Face hub",
            "CC-BY-NC-2.0, not for commercial use",
            "multiIF_20241018.csv",
            (HubFile("facebook/Multi-IF", "multiIF_20241018.csv", "0ab97ce0b45c7f57772e8ba2ac1616f4b00bd3aa"),),
        ),
        "decided.multiif",
    ),
    ListedSuite(
        "followbench",
        "followbench:FOLDER (with its *_constraints.json), or one of these files",
        350,
        1024,
        "arXiv 2310.20410",
        "Up to how many constraints does it keep, added one by one?",
        "FollowBench: one instruction with one to five constraints; the English rows that its own "
        "code decides by program.",
        _FOLLOWBENCH,
        "decided.followbench",
    ),
    ListedSuite(
        "ruler",
        "ruler:FOLDER (with TASK/*.jsonl)",
        None,
        128,
        "arXiv 2404.06654",
        "Up to which length does it find, follow and count things in its context?",
        "RULER: thirteen long-context tasks, from the folder that its own script wrote for one length.",
        Origin(f"{_GITHUB}NVIDIA/RULER", "what scripts/data/prepare.py writes for one length", "Apache-2.0", "FOLDER"),
        "decided.ruler",
    ),
    ListedSuite(
        "ifscale",
        "ifscale:FOLDER (src of its repository), ifscale:FOLDER@10+50+100+250+500 (words asked for)",
        250,
        16384,
        "arXiv 2507.11538",
        "How many words can it be told to use before it loses them?",
        "IFScale: a business report with 10 to 500 given words; omitted and distorted words apart.",
        Origin(f"{_GITHUB}DistylAI/distylai.github.io", "src/inputs/pruned_rules.csv and src/runner.py", "MIT", "src"),
        "decided.ifscale",
    ),
    ListedSuite(
        "needlebench",
        "needlebench:FOLDER, needlebench:FOLDER@32k+single-retrieval+en (size, tasks, languages, lengths), "
        "needlebench:FOLDER@atc",
        4600,
        2048,
        "arXiv 2407.11963",
        "Up to which length, and where in it, does it find one needle and many, and reason over them?",
        "NeedleBench V2: retrieval and reasoning in English and Chinese texts of up to a million "
        "tokens; needs tiktoken.",
        Origin(
            "https://huggingface.co/datasets/opencompass/NeedleBench",
            "needles.jsonl, names.json, PaulGrahamEssays.jsonl, zh_finance.jsonl; "
            "and opencompass/datasets/needlebench_v2/ of OpenCompass (Apache-2.0), "
            "beside them or installed (pip install --no-deps opencompass)",
            "none read: see the data set's own page",
            "FOLDER",
        ),
        "needlebench.suite",
    ),
    ListedSuite(
        "mathif",
        "mathif:FOLDER (with SOURCE_LEVEL.jsonl), or one of these files",
        420,
        16384,
        "arXiv 2505.14810",
        "Does it keep constraints while it solves mathematical problems?",
        "MathIF: 15 kinds, one to three at once; whether the solution is right is not measured.",
        Origin(
            "https://huggingface.co/datasets/TingchenFu/MathIF",
            "SOURCE_LEVEL.jsonl (those in the repository of the same name are logs)",
            "MIT",
            "FOLDER",
            tuple(
                HubFile("TingchenFu/MathIF", f"{source}_{level}.jsonl")
                for source in ("gsm8k", "math500", "minerva", "olympiad", "aime")
                for level in ("single", "double", "triple")
            ),
        ),
        "decided.mathif",
    ),
    ListedSuite(
        "reasonif",
        "reasonif:FILE (reasonIF_dataset.json)",
        300,
        16384,
        "arXiv 2510.15211",
        "Does its reasoning keep the rules that were given for it?",
        "ReasonIF: six kinds, judged on the reasoning; undecided where a model shows none.",
        Origin(
            f"{_GITHUB}ykwon0407/reasonIF",
            "data/reasonIF_dataset.json",
            "Apache-2.0 (on the hub)",
            "reasonIF_dataset.json",
            (HubFile("ykwon-hf/reasonIF", "reasonIF_dataset.json"),),
        ),
        "decided.reasonif",
    ),
    ListedSuite(
        "logicif",
        "logicif:FILE (logic-if-eval.jsonl or logic-if-eval-mini.jsonl)",
        None,
        8192,
        "arXiv 2508.09125",
        "Can it carry out a function that is told in words, counters and all?",
        "LogicIFEval: the result and the counters of a function, by case and by question.",
        Origin(
            f"{_GITHUB}mianzhang/LogicIF",
            "benchmark/logic-if-eval-mini.jsonl",
            "none stated in the repository: ask its authors before you pass it on",
            "logic-if-eval-mini.jsonl",
        ),
        "decided.logicif",
    ),
    ListedSuite(
        "structeval",
        "structeval:FILE (its rows; rendered tasks are left out)",
        None,
        4096,
        "arXiv 2505.20139",
        "Does it write JSON, YAML, TOML, XML and CSV with the parts that were asked for?",
        "StructEval without pictures: the syntax, and every path that was asked for. YAML needs adhere[schemas].",
        Origin(
            f"{_GITHUB}TIGER-AI-Lab/StructEval",
            "dataset/nonrenderable_new.json, or all rows of the hub's TIGER-Lab/StructEval",
            "MIT (on the hub)",
            "nonrenderable_new.json",
        ),
        "decided.structeval",
    ),
    ListedSuite(
        "jsonschemabench",
        "jsonschemabench:FILE (rows with json_schema and unique_id), or a FOLDER of schemas",
        None,
        4096,
        "arXiv 2501.10868",
        "Does it write JSON that fits real, hard schemas?",
        "JSONSchemaBench: ten thousand schemas of real life, by all of JSON Schema; needs adhere[schemas].",
        Origin(
            f"{_GITHUB}guidance-ai/jsonschemabench",
            "data/Github_easy and the other folders of data",
            "MIT (on the hub); the schemas have licences of their own",
            "data/Github_easy",
        ),
        "decided.jsonschemabench",
    ),
    ListedSuite(
        "iheval",
        "iheval:FOLDER (benchmark of its repository, or a folder in it), or one input_data.json in these folders",
        None,
        1024,
        "arXiv 2502.08745",
        "Does a system message win over a user, and a user over a tool, who says the opposite?",
        "IHEval: nine tasks by reference, aligned and conflict; two give earlier answers or a tool's messages, "
        "three are scored by shares.",
        Origin(f"{_GITHUB}ytyz1307zzh/IHEval", "benchmark/", "CC BY-NC-ND 4.0, not for commercial use", "benchmark"),
        "decided.iheval",
    ),
    ListedSuite(
        "mmifeval",
        "mmifeval:FILE (JSON lines with their pictures beside them, or in them as base64)",
        400,
        4096,
        "arXiv 2504.07957",
        "Does it keep constraints about a picture?",
        "MM-IFEval: pictures with constraints; nineteen functions decide some, "
        "a model judges the others (adhere judge).",
        Origin(
            f"{_GITHUB}SYuan03/MM-IFEngine",
            "the rows of MM-IFEval (C-Level and P-Level) with their pictures",
            "Apache-2.0",
            "rows.jsonl",
        ),
        "judged.mmifeval",
    ),
    ListedSuite(
        "followbench-judged",
        "followbench-judged:FOLDER (with its *_constraints.json), or one of these files",
        820,
        1024,
        "arXiv 2310.20410",
        "As followbench, with the constraints that only a reader can tell.",
        "FollowBench: all English rows; a model judges those that no program decides (adhere judge).",
        _FOLLOWBENCH,
        "decided.followbench",
        function="load_all",
    ),
    ListedSuite(
        "sysbench",
        "sysbench:FILE (system_benchmark_eval_datas.json)",
        500,
        2048,
        "arXiv 2408.10943",
        "Does it hold a system message's rules over five turns?",
        "SysBench: sessions under a system message; a model judges all criteria (adhere judge).",
        Origin(
            f"{_GITHUB}PKU-Baichuan-MLSystemLab/SysBench",
            "datas/system_benchmark_eval_datas.json",
            "none stated in the repository: ask its authors before you pass it on",
            "system_benchmark_eval_datas.json",
        ),
        "judged.sysbench",
    ),
    ListedSuite(
        "complexbench",
        "complexbench:FILE (data_final.json), complexbench:FILE@en",
        1150,
        2048,
        "arXiv 2407.03978",
        "Does it keep constraints that are joined by and, chain, selection and nesting?",
        "ComplexBench: scoring questions with dependencies; a model judges them all (adhere judge).",
        Origin(f"{_GITHUB}thu-coai/ComplexBench", "data/data_final.json", "MIT", "data_final.json"),
        "judged.complexbench",
    ),
    ListedSuite(
        "codeif",
        "codeif:FILE (final_release_1200.jsonl, or its easy or hard half)",
        1200,
        4096,
        "arXiv 2502.19166",
        "Does its code keep a list of instructions?",
        "CodeIF: instructions about code; a model judges them all (adhere judge).",
        Origin(
            f"{_GITHUB}lin-rany/codeIF",
            "data/question/final_release_1200.jsonl",
            "none stated in its README: see the repository",
            "final_release_1200.jsonl",
        ),
        "judged.codeif",
    ),
    ListedSuite(
        "wildifeval",
        "wildifeval:FILE (rows with conversation_id, task, decomposition)",
        7523,
        1000,
        "arXiv 2503.06573",
        "Does it keep the constraints of what people really asked?",
        "WildIFEval: requests taken apart into constraints; a model judges them all (adhere judge).",
        Origin(
            "https://huggingface.co/datasets/gililior/wild-if-eval",
            "data/test-*.parquet, joined with lmsys/lmsys-chat-1m (its own terms) "
            "as the README of gililior/wild-if-eval-code says",
            "Apache-2.0; the requests under LMSYS-Chat-1M's terms",
            "joined.jsonl",
        ),
        "judged.wildifeval",
    ),
    ListedSuite(
        "agentif",
        "agentif:FILE (eval.json)",
        707,
        4096,
        "arXiv 2505.16944",
        "Does it keep the long instructions of real agents?",
        "AgentIF: code of the rows decides some constraints, in the sandbox; a model judges the others (adhere judge).",
        Origin(
            f"{_GITHUB}THU-KEG/AgentIF",
            "data/eval.json",
            "none stated in the repository: ask its authors before you pass it on",
            "eval.json",
        ),
        "judged.agentif",
    ),
    ListedSuite(
        "multichallenge",
        "multichallenge:FILE (benchmark_questions.jsonl)",
        273,
        4096,
        "arXiv 2501.17399",
        "Does it keep to what was said earlier in a real conversation?",
        "MultiChallenge: one question about the last answer of a conversation; a model judges it (adhere judge).",
        Origin(
            f"{_GITHUB}ekwinox117/multi-challenge",
            "data/benchmark_questions.jsonl",
            "none stated in the repository: ask its authors before you pass it on",
            "benchmark_questions.jsonl",
        ),
        "judged.multichallenge",
    ),
    ListedSuite(
        "advancedif",
        "advancedif:FILE (rows with conversation_history, prompt_metadata, benchmark_name)",
        None,
        4096,
        "arXiv 2511.10507",
        "Does it meet experts' rubrics for complex, carried and system instructions?",
        "AdvancedIF: rubrics by experts; a model judges them all (adhere judge).",
        Origin(
            f"{_GITHUB}facebookresearch/AdvancedIF",
            "the rows of the hub's facebook/AdvancedIF",
            "see the hub's card; the repository has CC BY-NC 4.0",
            "advancedif.jsonl",
        ),
        "judged.advancedif",
    ),
    ListedSuite(
        "inverse-ifeval",
        "inverse-ifeval:FILE (Inverse_IFEval_Dataset.json)",
        1012,
        4096,
        "arXiv 2509.04292",
        "Does it follow instructions that go against its training?",
        "Inverse IFEval: eight types of counter-intuitive instruction, English and Chinese; "
        "a model judges them all (adhere judge).",
        Origin(
            "https://huggingface.co/datasets/m-a-p/Inverse_IFEval",
            "Inverse_IFEval_Dataset.json",
            "none stated on the hub: ask its authors before you pass it on",
            "Inverse_IFEval_Dataset.json",
            (
                HubFile(
                    "m-a-p/Inverse_IFEval", "Inverse_IFEval_Dataset.json", "35f1da157640526e62b7685b682d748fa55ccfd0"
                ),
            ),
        ),
        "judged.inverse_ifeval",
    ),
)  # the end of CATALOG
"""All published suites, in the order of `docs/guide/suites.md`."""
