: envkit hooks; test $?VIRTUAL_ENV != 0 && test -f "$VIRTUAL_ENV:q/.envkit/deactivate.csh" && source "$VIRTUAL_ENV:q/.envkit/deactivate.csh"; : end of envkit hooks; 
