%token NUM NAME
%precedence THEN
%precedence ELSE
%left '|'
%left '^'
%left '&'
%nonassoc '<' '>'
%left '+' '-'
%left '*' '/' '%'
%right NEG
%right POW
%%
input: %empty | input stmt ;
stmt: exp ';' | '?' exp stmt %prec THEN | '?' exp stmt ELSE stmt ;
exp: NUM | NAME
  | exp '|' exp
  | exp '^' exp
  | exp '&' exp
  | exp '<' exp
  | exp '>' exp
  | exp '+' exp
  | exp '-' exp
  | exp '*' exp
  | exp '/' exp
  | exp '%' exp
  | '-' exp %prec NEG
  | exp POW exp
  | '(' exp ')' ;
%%
