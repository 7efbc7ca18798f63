"""How shells say that there is no such command, in their own languages: bash, dash, zsh, fish, cmd and PowerShell.

bash's translations are those of https://translationproject.org/domain/bash.html; cmd's and PowerShell's are as people
have posted them in public threads.
"""

from __future__ import annotations

import functools
import re

BEHIND = (
    # English
    r"(?:command |executable file |program )?not found", r"is not recognized as", r"No such file or directory",
    r"cannot find the (?:file|path)",
    # Chinese
    r"未找到", r"找不到命令", r"不是内部或外部命令", r"不是內部或外部命令", r"项识别为", r"命令不存在", r"詞彙是否為",
    r"没有那个文件或目录", r"沒有此一檔案或目錄",
    # German
    r"(?:Kommando|Befehl) (?:wurde )?nicht gefunden", r"ist entweder falsch geschrieben",
    r"(?:wurde )?nicht als Name eines Cmdlet", r"Datei oder Verzeichnis nicht gefunden",
    # French
    r"commande (?:introuvable|inconnue|non trouvée)", r"n['\u2019]est pas reconnu",
    r"Aucun fichier ou dossier de ce (?:type|nom)",
    # Spanish, Portuguese, Italian
    r"(?:orden|comando) no encontrad[oa]", r"no se encontró la orden", r"no se reconoce como",
    r"No existe el (?:fichero|archivo)",
    r"comando não encontrado", r"não é reconhecid[oa]", r"não foi encontrado", r"Arquivo ou diretório inexistente",
    r"comando non trovato", r"non (?:è )?riconosciuto", r"File o directory non esistente",
    # Japanese, Korean
    r"コマンドが見つかりません", r"そのようなファイルやディレクトリ",
    r"명령어를 찾을 수 없", r"명령을 찾을 수 없", r"그런 파일이나 디렉터리",
    # Russian, Ukrainian
    r"команда не найдена", r"не является внутренней", r"не распознано", r"Нет такого файла",
    r"команду не знайдено", r"не є внутрішньою",
    # Polish, Czech, Dutch, Turkish, Swedish, Hungarian, Romanian, Finnish
    r"nie znaleziono polecenia", r"nie jest rozpoznawan", r"příkaz nenalezen", r"není názvem vnitřního",
    r"opdracht niet gevonden", r"wordt niet herkend", r"komut bulunamad\u0131",
    r"kommandot (?:hittades inte|finns inte)", r"parancs nem található", r"nem nevezhető külső vagy belső parancsnak",
    r"comandă negăsită", r"nu este recunoscut", r"komentoa ei löydy",
)  # fmt: skip
"""Right behind the name."""
AT_THE_END = (
    r"認識されていません", r"認識されません", r"내부 또는 외부 명령", r"인식되지 않습니다",
    r"olarak tan\u0131nm\u0131yor",
)  # fmt: skip
"""At the end of a sentence that begins with the name."""
BEFORE = (
    r"(?:command )?not found:", r"Unknown command:?", r"No such file or directory:", r"(?:which|type): no",
    r"cannot find the file specified:", r"未找到命令:?", r"未知命令:?", r"找不到命令:?",
    r"(?:Befehl|Kommando) nicht gefunden:?", r"Unbekannter Befehl:?", r"commande (?:introuvable|inconnue) ?:?",
    r"comando no encontrado:?", r"no se encontró la orden:?", r"Orden desconocida:?", r"comando não encontrado:?",
    r"Comando desconhecido:?", r"comando non trovato:?", r"команда не найдена:?", r"Неизвестная команда:?",
    r"コマンドが見つかりません:?", r"不明なコマンド:?",
)  # fmt: skip
"""Before the name: zsh, fish, which, Python."""
_QUOTES = r"\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb\u201e\u300c\u300d\u2039\u203a"
_ENOUGH_LETTERS = 6
_DENIED = (
    r"Permission denied", r"Keine Berechtigung", r"权限不够", r"拒絕不符權限的操作", r"Permission non accordée",
    r"Permiso denegado", r"Permissão negada", r"Отказано в доступе", r"許可がありません",
)  # fmt: skip


def _loose(phrase: str) -> str:
    """The phrase also where its letters beyond ASCII were lost on the way, as in "n\ufffdo \ufffd reconhecido"."""
    if len(re.findall(r"[a-z]", phrase)) < _ENOUGH_LETTERS:
        return phrase
    return re.sub(r"[^\x00-\x7f]", lambda found: rf"(?:{found[0]}|[^\x00-\x7f]{{1,3}}|\?)", phrase)


@functools.cache
def not_found(program: str) -> re.Pattern[str]:
    """Finds that a shell does not know ``program`` (a regular expression)."""
    behind, before = "|".join(map(_loose, BEHIND)), "|".join(map(_loose, BEFORE))
    return re.compile(
        rf"{program}[\s:\uff1a,{_QUOTES}]{{0,8}}(?:{behind})"
        rf"|{program}[{_QUOTES}][^\n]{{0,90}}?(?:{'|'.join(AT_THE_END)})"
        rf"|(?:{before})[\s:\uff1a{_QUOTES}]{{0,4}}(?:[\w/]+/)?{program}",
        re.IGNORECASE,
    )


@functools.cache
def denied(program: str) -> re.Pattern[str]:
    """Finds that a shell may not start ``program``."""
    return re.compile(rf"{program}[\s:\uff1a{_QUOTES}]{{1,6}}(?:{'|'.join(_DENIED)})", re.IGNORECASE)
