# Made by envkit (`envkit hooks clean-all`; with --remove it takes this file out again): when conda switches from an
# environment of envkit to this one it brings the PATH entry of the CUDA toolkit back (conda/conda#14762); this takes it
# out again. While a toolkit is in force, below this environment in a stack, nothing is done. Rules and reasons:
# docs/activation.md in the sources of envkit. Starts no program, writes nothing, ends with status 0, leaves nothing
# behind.

# A list is split at its colons, one word per entry, which begins with an x since it may be empty; blanks are hidden
# meanwhile. ($path and `set path` would make `.` of an empty entry.) The word that goes becomes `:-`, which no entry
# can be.
if ($?_ENVKIT_@SLOT@_BIN && ! $?_ENVKIT_@SLOT@_TOOLKIT && $?PATH) then
    set _envkit_text = "x$PATH:as| |//blank//|"
    set _envkit_text = "$_envkit_text:as|	|//tab//|"
    set _envkit_text = "$_envkit_text:as|:| x|"
    set _envkit_list = ($_envkit_text:x)
    set _envkit_ours = "x$_ENVKIT_@SLOT@_BIN:as| |//blank//|"
    set _envkit_ours = "$_envkit_ours:as|	|//tab//|"
    set _envkit_left = ""
    if ($?_ENVKIT_@SLOT@_OWN) then
        set _envkit_left = "$_ENVKIT_@SLOT@_OWN:q"
    endif
    set _envkit_at = 0
    set _envkit_first = 0
    foreach _envkit_entry ($_envkit_list:q)
        @ _envkit_at++
        if ("$_envkit_entry:q" == "$_envkit_ours:q") then
            if ($_envkit_first == 0) set _envkit_first = $_envkit_at
            if ("x$_envkit_left:q" == x) then
                set _envkit_list[$_envkit_first] = ":-"
                set _envkit_text = "$_envkit_list:q"
                set _envkit_text = "$_envkit_text:s| :-||"
                set _envkit_text = "$_envkit_text:s|:- ||"
                set _envkit_text = "$_envkit_text:s|:-||"
                set _envkit_text = "$_envkit_text:as| x|:|"
                set _envkit_text = "$_envkit_text:s|x||"
                set _envkit_text = "$_envkit_text:as|//blank//| |"
                setenv PATH "$_envkit_text:as|//tab//|	|"
                break
            endif
            set _envkit_left = "$_envkit_left:s|x||"
        endif
    end
    unsetenv _ENVKIT_@SLOT@_BIN
    unsetenv _ENVKIT_@SLOT@_OWN
    unsetenv _ENVKIT_@SLOT@_IN
    unset _envkit_text _envkit_list _envkit_ours _envkit_left _envkit_at _envkit_first _envkit_entry
endif
