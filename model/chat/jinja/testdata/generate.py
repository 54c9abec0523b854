"""Writes python.jsonl: templates with what Python's Jinja2 renders, set up as the transformers library does.

Run it in this folder with Jinja2 3.1.6: python3 generate.py
"""
import datetime, itertools, json, random, re

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

class Gen(jinja2.ext.Extension):
    tags={"generation"}
    def parse(self, parser):
        lineno=next(parser.stream).lineno
        body=parser.parse_statements(["name:endgeneration"],drop_needle=True)
        return body
def env():
    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    def raise_exception(m): raise jinja2.exceptions.TemplateError(m)
    def strftime_now(f): return datetime.datetime(2026,1,15,12,0,0).strftime(f)
    e=ImmutableSandboxedEnvironment(trim_blocks=True,lstrip_blocks=True,extensions=[Gen,jinja2.ext.loopcontrols])
    e.filters["tojson"]=tojson
    e.globals["raise_exception"]=raise_exception
    e.globals["strftime_now"]=strftime_now
    return e
E=env()
CTX={"s":"  Hello, World!\n","u":"Straße é😀 ǅ","e":"","n":7,"z":0,"neg":-3,"f":2.5,"g":1e22,"big":123456789012345678901234567890,"t":True,"fa":False,"no":None,
"l":[3,1,2],"w":["b","A","c","a"],"m":{"z":1,"a":{"k":[10,20]},"items":"shadow"},"nest":[{"n":"x","v":2},{"n":"y","v":1},{"n":"z","v":2}],"el":[],"em":{},
"msgs":[{"role":"system","content":"sys"},{"role":"user","content":"q <b> & 'x'"},{"role":"assistant","content":None,"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1,"b":[True,None,1.5]}}}]}],
"mixed":[1,"a",None,2.5,True,[1],{"k":"v"}]}
T=[]
vals=["s","u","e","n","z","neg","f","g","big","t","fa","no","l","w","m","nest","el","em","mixed","undef","'abc'","(1,2)","l|reverse","m.items()","range(3)","'a,b;c'"]
# printing, tests, filters over all values
for v in vals:
    T.append("{{ %s }}"%v if v not in("l|reverse",) else "{{ (%s)|list }}"%v)
    for f in ["length","upper","lower","title","capitalize","trim","string","list","first","last","join('-')","tojson","default('D')","default('D',true)","int","float","abs","sort","unique|list","reverse|list","sum","min","max","e","safe","wordcount","items|list","dictsort","count","map('string')|list","select|list","reject|list","pprint","string|length","round","urlencode","center(12)","indent","batch(2)|list","slice(2)|list","striptags","replace('a','b')","format","truncate(5,true,'')", "xmlattr", "filesizeformat"]:
        T.append("{{ %s|%s }}"%(v if '(' in v or v.isalpha() else "(%s)"%v,f))
    for t in ["defined","undefined","none","boolean","true","false","integer","float","number","string","mapping","sequence","iterable","callable","lower","upper","odd","even","sameas none","eq 7","ne 7","in l","in 'abc'","divisibleby 2","gt 1","lt 1","ge 2","escaped", "filter", "test"]:
        T.append("{{ %s is %s }}{{ %s is not %s }}"%(v,t,v,t))
# binary ops
for a,b in itertools.product(["n","f","neg","z","t","no","'ab'","l","(1,2)","m","undef","big","e"],repeat=2):
    for op in ["+","-","*","/","//","%","**","==","!=","<",">=","in","not in","~","and","or"]:
        if op=="**" and "big" in (a,b): continue
        if op=="*" and "big" in (a,b): continue
        T.append("{{ %s %s %s }}"%(a,op,b))
# string methods
strs=["s","u","'a-b-c'","'Hello World'","''","'  x  y '","'12'","'abcABC'","'a\\nb\\r\\nc'","'ǅungla'","'x\\ty'"]
meths=["upper()","lower()","title()","capitalize()","swapcase()","casefold()","strip()","lstrip()","rstrip()","strip('aH ')","split()","split('-')","split(' ')","split('-',1)","rsplit('-',1)","rsplit()","rsplit(None,1)","split(None,1)","splitlines()","splitlines(true)","partition('-')","rpartition('-')","replace('a','XX')","replace('','-')","replace('a','b',1)","find('b')","rfind('b')","index('a')","count('a')","count('')","startswith('a')","startswith(('H','a'))","endswith('c')","startswith('b',1)","find('b',1)","find('b',-2)","count('b',1,4)","join(['1','2'])","join(w)","zfill(6)","ljust(8)|length","rjust(8,'*')","center(9,'*')","center(10,'*')","isdigit()","isalpha()","isalnum()","isspace()","isupper()","islower()","istitle()","isnumeric()","isdecimal()","isascii()","isidentifier()","isprintable()","removeprefix('a')","removesuffix('c')","expandtabs(4)","format(1,2,x=3)","encode","nosuch","nosuch()","split('')","index('zzz')","join([1])","strip(1)"]
for s_,m_ in itertools.product(strs,meths): T.append("{{ (%s).%s }}"%(s_,m_))
# slices
for v in ["'héllo'","l","(1,2,3)","range(6)","e","el","no","n"]:
    for sl in ["[0]","[-1]","[5]","[1:]","[:-1]","[::-1]","[::2]","[1:4:2]","[-3:-1]","[5:1:-1]","[:]","[::0]","['a']","[none:2]","[true]","[1.0]","[10:]","[-100:2]","[:100]"]:
        T.append("{{ (%s)%s }}"%(v,sl))
# printf/format
for f,a in [("%s","n"),("%d","f"),("%5d|","n"),("%-5d|","n"),("%05d","neg"),("%+d","n"),("% d","n"),("%x","255"),("%X","255"),("%#x","255"),("%o","8"),("%e","f"),("%.3f","f"),("%8.2f|","f"),("%g","f"),("%g","1e10"),("%g","0.0001"),("%G","1e-10"),("%r","'a'"),("%s","l"),("%c","65"),("%c","'x'"),("%%","()"),("%s %s","(1,2)"),("%s %s","(1,)"),("%s","(1,2)"),("%(a)s","{'a':1}"),("%(b)s","{'a':1}"),("%d","'a'"),("%s","none"),("%s","true"),("%i","5"),("%5s|","'ab'"),("%-5s|","'ab'"),("%.1s|","'ab'"),("%*d|","(5,3)"),("%","1"),("%z","1"),("abc","1"),("%s","undef"),("%s","m"),("abc","m"),("abc","l"),("%d","t"),("%f","n"),("%d","big")]:
    T.append("{{ '%s' %% %s }}"%(f,a))
for f,a in [("{}","1"),("{0}{1}{0}","1,2"),("{a}","a=5"),("{:>5}|","'ab'"),("{:<5}|","'ab'"),("{:^5}|","'ab'"),("{:*^7}|","'ab'"),("{:5}|","3"),("{:05}","3"),("{:+}","3"),("{:,}","1234567"),("{:_}","1234567"),("{:.2f}","2.345"),("{:e}","12345.678"),("{:g}","0.00001"),("{:%}","0.25"),("{:.1%}","0.256"),("{:x}","255"),("{:#x}","255"),("{:b}","5"),("{:o}","8"),("{:c}","65"),("{!r}","'a'"),("{!s}","none"),("{{}}",""),("{0[a]}","{'a':1}"),("{0.a}","{'a':1}"),("{0[1]}","l"),("{}",""),("{","1"),("}","1"),("{:d}","'a'"),("{:.3}","'abcdef'"),("{:10.3}|","'abcdef'"),("{:.3}","3.14159"),("{:n}","5"),("{}","1.0"),("{:5.1f}|","2.25"),("{:s}","1"),("{a.b}","a=1"),("{!x}","1"),("{:<6d}|","3"),("{:=+6d}|","3")]:
    T.append("{{ '%s'.format(%s) }}"%(f,a))
# filters with args
CROSSED = len(T)
T+=["{{ l|sort(reverse=true) }}","{{ w|sort }}","{{ w|sort(true) }}","{{ w|sort(case_sensitive=true) }}","{{ nest|sort(attribute='v')|map(attribute='n')|join }}","{{ nest|sort(attribute='v,n',reverse=true)|map(attribute='n')|join }}","{{ mixed|sort }}","{{ nest|map(attribute='q')|list }}","{{ nest|map(attribute='q',default=0)|list }}","{{ nest|map('nosuch')|list }}","{{ l|map('add',1)|list }}","{{ nest|map(attribute='n')|map('upper')|join(',') }}","{{ nest|selectattr('v','gt',1)|list }}","{{ nest|selectattr('v','nosuch',1)|list }}","{{ nest|rejectattr('v','eq',2)|list }}","{{ nest|groupby('v') }}","{% for g in nest|groupby('v') %}{{ g.grouper }}:{{ g.list|length }} {% endfor %}","{% for a,b in nest|groupby('v') %}{{ a }}{{ b|length }}{% endfor %}","{{ nest|sum(attribute='v') }}","{{ l|sum(start=10) }}","{{ w|sum }}","{{ nest|max(attribute='v') }}","{{ w|min }}","{{ w|max(case_sensitive=true) }}","{{ l|join(', ') }}","{{ nest|join('/',attribute='n') }}","{{ m|dictsort(by='value') }}","{{ m|dictsort(false,'key',true) }}","{{ {'b':1,'a':2,'C':3}|dictsort }}","{{ {'b':1,'a':2,'C':3}|dictsort(true) }}","{{ {'b':3,'a':2,'C':1}|dictsort(by='value') }}","{{ m|dictsort(by='x') }}","{{ 'l1\nl2\n\nl3'|indent(2) }}","{{ 'l1\nl2\n\nl3'|indent(2,true,true) }}","{{ 'l1\nl2'|indent('--') }}","{{ ''|indent(2,true) }}|","{{ 'a\n'|indent }}|","{{ 'abc def ghi'|truncate(7) }}","{{ 'abc def ghi'|truncate(7,true) }}","{{ 'abc def ghi'|truncate(5,false,'..',0) }}","{{ 'abc'|truncate(1) }}","{{ 'a b c d e f'|wordwrap(3) }}","{{ 'aaaa bbbb'|wordwrap(6) }}","{{ 'abcdefghij'|wordwrap(4,false) }}","{{ '3.7'|int }}","{{ 'ff'|int(0,16) }}","{{ '0xff'|int(0,16) }}","{{ '0b11'|int(0,2) }}","{{ '12abc'|int(-1) }}","{{ '1e3'|float }}","{{ 'x'|float(1.5) }}","{{ ' 5 '|int }}","{{ '1_000'|int }}","{{ none|int(4) }}","{{ 2.675|round(2) }}","{{ 1234.5|round(-2) }}","{{ 5|round(1) }}","{{ 15|round(-1) }}","{{ 25|round(-1) }}","{{ 0.5|round }}","{{ 1.5|round }}","{{ -2.5|round }}","{{ 2.1|round(0,'ceil') }}","{{ 2.19|round(1,'floor') }}","{{ 2.1|round(0,'x') }}","{{ [1,2,3,4,5]|batch(2,'x')|list }}","{{ [1,2,3,4,5]|slice(3)|list }}","{{ [1,2,3,4,5]|slice(3,'x')|list }}","{{ ['a','A','b']|unique|list }}","{{ ['a','A','b']|unique(true)|list }}","{{ nest|unique(attribute='v')|map(attribute='n')|list }}","{{ 'aXbX'|replace('X','-',1) }}","{{ 123|replace(2,'x') }}","{{ 'a'|center(5) }}|","{{ m|tojson(indent=2) }}","{{ m|tojson(2) }}","{{ m|tojson(indent=0) }}","{{ m|tojson(indent='\t') }}","{{ m|tojson(sort_keys=true) }}","{{ el|tojson(indent=2) }}{{ em|tojson(indent=2) }}","{{ [[],{}]|tojson(indent=2) }}","{{ 'é\u2028\x7f\"\\\\/'|tojson }}","{{ 'é😀'|tojson(ensure_ascii=true) }}","{{ {1:2,none:3,true:4,1.5:5}|tojson }}","{{ {(1,2):3}|tojson }}","{{ 1e16|tojson }}{{ 1e15|tojson }}{{ 1e-5|tojson }}{{ 100.0|tojson }}","{{ m|tojson(separators=(',',':')) }}","{{ m|tojson(indent=2,separators=(',',':')) }}","{{ undef|tojson }}","{{ range|tojson }}","{{ 'x'|attr('upper') is defined }}","{{ m|attr('z') is defined }}","{{ 'a b'|urlencode }}","{{ '<b>x</b> y'|striptags }}","{{ '%s %s'|format(1,2) }}","{{ '%(a)s'|format(a=1) }}","{{ '<b>'|e|e }}","{{ ('<b>'|safe) + '<i>' }}","{{ '<i>' + ('<b>'|safe) }}","{{ ('<b>'|safe) ~ '<i>' }}","{{ ['<b>'|safe,'<i>']|join('<') }}","{{ ('<b>'|safe)|e }}","{{ ('<b>'|safe) * 2 + '<' }}","{{ ('<b>%s'|safe) % '<' }}","{{ ('a<b>'|safe).upper() + '<' }}","{{ ('<b>'|safe).replace('b','i') }}","{{ 'x'|default }}","{{ undef|d }}|","{{ undef.x|default('q') }}","{{ m.nope|default('q') }}","{{ m.nope.deep|default('q') }}","{{ l|first }}{{ l|last }}{{ el|first }}{{ 'abc'|last }}","{{ (l|map('string'))|first }}","{{ (l|map('string'))|length }}","{{ 'y' if (el|select) else 'n' }}","{{ l|select('odd')|list }}{{ l|reject('odd')|list }}","{{ [0,1,'',none,'a']|select|list }}","{{ 'abc'|map('upper')|list }}"]
# access
T+=["{{ m.z }}{{ m['z'] }}{{ m.get('z') }}{{ m.get('q') }}{{ m.get('q',1) }}","{{ m['items'] }}","{{ m.items is callable }}","{{ em.items is callable }}{{ em['items'] is defined }}{{ em['items'] is mapping }}","{{ m.keys()|list }}{{ m.values()|list|length }}","{{ m.keys() }}","{{ em.items() }}","{{ m.a.k[1] }}","{{ m.a.k.1 }}","{{ m['a']['k'][-1] }}","{{ nest[0].n }}{{ nest[-1]['n'] }}","{{ nest[10] }}|","{{ nest[10].n }}","{{ n.foo }}|","{{ n.foo.bar }}","{{ no.foo }}|","{{ no.foo.bar }}","{{ no['a'] }}|","{{ l['a'] }}|","{{ m[l] }}|","{{ undef[0] }}","{{ undef() }}","{{ n() }}","{{ m.nope() }}","{{ 'abc'.0 }}","{{ m.pop('z') }}","{{ m.update({}) }}","{{ l.append(1) }}","{{ l.append is defined }}","{{ l.count(1) }}{{ l.index(1) }}","{{ l.index(9) }}","{{ l.copy() }}{{ m.copy() }}","{{ (1,2).count(1) }}","{{ n.__class__ }}|{{ s.__len__ }}|","{{ f.is_integer() }}{{ n.bit_length() }}","{{ 1 if }}","{{ dict(a=1,b=2) }}{{ dict([('x',1)]) }}{{ dict(m,z=5).z }}","{{ namespace(a=1).a }}{{ namespace({'q':2}).q }}{{ namespace().x }}|","{% set ns = namespace(c=0) %}{% for i in l %}{% set ns.c = ns.c + i %}{% endfor %}{{ ns.c }}{{ ns['c'] }}","{% set ns.x = 1 %}","{% set m2 = {} %}{% set m2.x = 1 %}","{{ range(5)|list }}{{ range(2,8,3)|list }}{{ range(3)[1] }}{{ range(3)|length }}{{ 2 in range(3) }}","{{ range(100001) }}","{{ range(1.5) }}","{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}","{% set c = cycler('a','b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}"]
# statements
T+=["{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a','b') }}{{ loop.changed(i) }};{% endfor %}",
"{% for i in el %}x{% else %}none{% endfor %}","{% for i in l %}{% break %}{% else %}E{% endfor %}","{% for i in l %}{% continue %}{% else %}E{% endfor %}","{% for i in l %}{% if loop.index==2 %}{% break %}{% endif %}{{ i }}{% else %}E{% endfor %}","{% for i in l %}{% if loop.index==1 %}{% continue %}{% endif %}{{ i }}{% else %}E{% endfor %}",
"{% for i in l if i > 1 %}{{ loop.index }}:{{ i }} {% endfor %}","{% for i in l if loop.index > 1 %}{{ i }}{% endfor %}","{% for k,v in m.items() %}{{ k }}{% endfor %}","{% for k in m %}{{ k }}{% endfor %}","{% for (a,b) in [(1,2)] %}{{ a }}{{ b }}{% endfor %}","{% for a,(b,c) in [(1,(2,3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}","{% for a,b in l %}{% endfor %}","{% for a,b in [(1,2,3)] %}{% endfor %}","{% for i in undef %}x{% else %}u{% endfor %}","{% for i in no %}x{% endfor %}","{% for c in 'ab' %}{{ c }}-{% endfor %}",
"{% set x=1 %}{% for i in l %}{% set x=i %}{{ x }}{% endfor %}{{ x }}","{% set x=1 %}{% if t %}{% set x=2 %}{% endif %}{{ x }}","{% for i in l %}{{ x }}{% set x=i %}{% endfor %}|{{ x }}","{% set x=9 %}{% for i in l %}{{ x }}{% set x=i %}{% endfor %}","{% for x in l %}{% for x in 'ab' %}{{ x }}{% endfor %}{{ x }}{{ loop.index }}{% endfor %}","{{ loop }}|","{% set a,b=1,2 %}{{ a }}{{ b }}","{% set a=1,2 %}{{ a }}","{% set x %}a{{ n }}b{% endset %}{{ x }}","{% set x|upper|trim %} a {% endset %}{{ x }}","{% with %}{% set q=1 %}{{ q }}{% endwith %}{{ q }}|","{% with a=1,b=2 %}{{ a+b }}{% endwith %}","{% with a=1 %}{% with a=2,b=a %}{{ a }}{{ b }}{% endwith %}{% endwith %}","{% filter upper|trim %} abc {% endfilter %}","{% filter replace('a','b') %}aaa{% endfilter %}",
"{% macro f(a,b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1,3) }}{{ f(b=5,a=4) }}{{ f() }}|","{% macro f(a) %}x{% endmacro %}{{ f(1,2) }}","{% macro f(a) %}x{% endmacro %}{{ f(q=2) }}","{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1,2,x=3) }}","{% macro f(a,b=a) %}{{ b }}{% endmacro %}{{ f(3) }}","{% macro f(n) %}{{ n }}{% if n %}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(3) }}","{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}body{% endcall %}","{% macro f() %}{{ caller(1,2) }}{% endmacro %}{% call(a,b=9) f() %}{{ a }}{{ b }}{% endcall %}","{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}","{% macro f() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ f() }}","{{ f() }}{% macro f() %}x{% endmacro %}","{% macro f() %}{{ y }}{% endmacro %}{% set y=5 %}{{ f() }}","{% macro f() %}{% set y=1 %}{% endmacro %}{{ f() }}{{ y }}|","{% macro f(x) %}{{ loop }}{% endmacro %}{% for i in l %}{{ f(i) }}{% endfor %}","{% for i in l %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}","{% macro f() %}{% for i in l %}{{ i }}{% endfor %}{% endmacro %}{{ f()|length }}{{ f() }}","{{ f.name }}|{% macro f(a) %}{% endmacro %}{{ f.name }}","{% macro f(*a) %}{% endmacro %}","{% macro f(a=1,b) %}{% endmacro %}",
"{% for i in [[1,[2,[3]]]] recursive %}{% if i is sequence %}[{{ loop(i) }}]{% else %}{{ i }}{{ loop.depth }}{% endif %}{% endfor %}","{% for i in l %}{{ loop(l) }}{% endfor %}",
"{% if n == 7 %}a{% elif n %}b{% else %}c{% endif %}","{% if not undef %}a{% endif %}","{% if no is none and m %}a{% endif %}","{% if n > 5 and n < 10 or fa %}a{% endif %}","{% if undef.x %}a{% endif %}","{% if n is nosuch %}a{% endif %}","{{ n|nosuch if fa else 1 }}","{{ n|nosuch if t else 1 }}","{% if fa %}{{ n|nosuch }}{% endif %}ok","{% generation %}a{% set q=1 %}{% endgeneration %}{{ q }}","{% print 1, 2 %}","{% raw %}{{ x }}{% endraw %}","{%- raw -%} {{ x }} {%- endraw -%} y"," {%+ raw %} a {% endraw +%}\n b","{% raw %}\n{% if %}\n{% endraw %}\nx","{# c #}\nx","a{#- c -#} b","{#+ c +#}\nb","  {# c #}\n  b","a {# c",
"{% if t %}\n a\n{% endif %}\n b\n","  {% if t %}a{% endif %}\n","x  {% if t %}a{% endif %}\n","{{ n }}\n{% if t %}\n{% endif %}\nz","\n\n{% if t %}\n\n{% endif %}\n\n","a\n  {%- if t %}\n b {%- endif %}\n c","{% if t -%}\n\n a\n{%- endif %}","{{ n -}}\n a","{{- n }}","a {{- n -}} b","{%+ if t %}a{% endif %}","  {%+ if t +%}\n  a{% endif %}","\t{% set x=1 %}\n{{ x }}","a\r\nb\rc\n{% if t %}\r\nx{% endif %}","\n","","\n\n","a\n","{{ n }}\n","{% set x = 1 %}\n","  {% for i in l %}\n    {{ i }}\n  {% endfor %}\n","{{'a'}}{{\"b\"}}","{{ 'a\\'b' }}{{ \"a\\\"b\" }}{{ '\\x41\\u00e9\\U0001F600\\101\\n\\q' }}|","{{ '\\u' }}","{{ 'a\nb' }}","{{ 'a' 'b' \"c\" }}","{{ [1,2,] }}{{ {'a':1,} }}{{ (1,) }}{{ () }}{{ [] }}{{ {} }}","{{ 1,2 }}","{{ (1) }}","{{ -1 }}{{ +1 }}{{ - -1 }}{{ -(-1) }}{{ not not t }}{{ not n == 7 }}","{{ 2**3**2 }}{{ -2**2 }}{{ 2**-1 }}","{{ 7//2*2 }}{{ 7%3*2 }}{{ 1+2~3 }}","{{ -7//2 }}{{ -7%3 }}{{ 7%-3 }}{{ -7.5//2 }}{{ -7.5%2 }}{{ 7.5%-2 }}","{{ 1e400 }}{{ -1e400 }}","{{ 0.1 }}{{ 1e-5 }}{{ 1e16 }}{{ 123456789.123456789 }}{{ 1e15 }}{{ 5e-324 }}","{{ 1_0 }}{{ 0xFF }}{{ 0o7 }}{{ 0b1 }}{{ 1_000.5 }}","{{ 00 }}","{{ 01 }}","{{ 1. }}","{{ .5 }}","{{ 1.5e3 }}","{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1.0 == t }}","{{ 1 in [1] == t }}","{{ 'a' in m }}{{ 'q' not in m }}{{ 1 in 'a' }}","{{ no in [none] }}{{ l in [l] }}","{{ t + t }}{{ t * 3 }}{{ true == 1 }}{{ 1 is true }}{{ t is sameas true }}","{{ 'a' if t }}{{ 'a' if fa }}|{{ 1 if fa else 2 if fa else 3 }}","{{ ('a' if fa) is defined }}","{{ ('a' if fa).x }}","{{ x.y if x is defined else 'no' }}","{{ a is defined and a }}","{{ n is divisibleby 7 }}{{ n is divisibleby(7) }}{{ n is eq 7 }}{{ 'x' is in ['x'] }}{{ n is not in l }}","{{ n is defined is true }}","{{ n is string or n is number }}","{{ [n is number, s is string] }}","{{ l is iterable and l is not string }}","{{ m is mapping }}","{{ 'a'|upper ~ 'b'|upper }}","{{ 'a'|upper + 'b' }}","{{ l|length > 2 }}","{{ (l|length) + 1 }}","{{ not l|length }}","{{ l|join|length }}","{{ m.a.k|sum + 1 }}","{{ msgs|map(attribute='role')|join(',') }}","{{ msgs|selectattr('tool_calls','defined')|map(attribute='tool_calls')|first|tojson }}","{{ msgs[2].tool_calls[0].function.arguments|tojson }}","{{ msgs|map(attribute='content')|list }}","{{ msgs|map(attribute='tool_calls.0.function.name',default='-')|list }}","{{ raise_exception('x' ~ n) }}","{{ raise_exception() }}","{{ strftime_now('%d %b %Y %H:%M:%S %j %A %p %I %y %e %% %B') }}","{{ strftime_now('%U %W %u %w %V %G %C %D %F %T %R') }}"]
# syntax errors
T+=["{{","{{ }}","{{ a b }}","{% if %}","{% if t %}","{% endif %}","{% for %}","{% for x l %}{% endfor %}","{% nosuch %}","{% set %}","{% set 1=2 %}","{% set true=1 %}","{{ (1 }}","{{ 1) }}","{{ [1}} ]","{{ 'a }}","{{ a..b }}","{{ a. }}","{{ a| }}","{{ a|1 }}","{{ a is }}","{{ f(a=1,2) }}","{{ f(**a,b=1) }}","{{ a[ }}","{{ a[] }}","{{ $ }}","{% macro %}{% endmacro %}","{% macro f %}{% endmacro %}","{% call 1 %}{% endcall %}","{% else %}","{% break %}","{% raw %}","{% if t %}{% endfor %}","{{ {1} }}","{{ {1:} }}","{{ a = 1 }}","{{ a := 1 }}","{{ not }}","{{ 1 + }}","{{ 1 ** }}","{{ lambda x: x }}","{{ a ? b : c }}","{{ a && b }}","{{ a !b }}","{% for x in l %}{% else %}{% else %}{% endfor %}","{% if t %}{% else %}{% elif t %}{% endif %}","{% set x = %}","{% endset %}","%}","}}","#}","{ { x } }","{%","{#","{{ x","{% set a b %}","{%- if t -%}","{% filter %}{% endfilter %}","{% filter nosuch %}{% endfilter %}","{% with a %}{% endwith %}"]
S=["-","+",""]
def tag(b,body,e):
    return b+random.choice(S)+random.choice([" ",""," \n "])+body+random.choice([" ",""])+random.choice(["-","+","","",""] if b=="{%" else ["-","",""])+e
def ws(): return random.choice([""," ","\n","\n\n","  ","\n  ","\t","a","b\n"," c","\r\n"," \n x "])
def block(d):
    out=[]
    for _ in range(random.randint(1,4)):
        out.append(ws())
        k=random.randint(0,9)
        if k<2: out.append(tag("{{",random.choice(["n","s","m.z","l|join(',')","'x' ~ n","undef","loop.index if loop is defined else 0"]),"}}"))
        elif k==2: out.append("{#"+random.choice(S)+"c\n"+random.choice(["-","+",""])+"#}")
        elif k==3 and d<3: out.append(tag("{%","if "+random.choice(["t","fa","n>5","undef"]),"%}")+block(d+1)+random.choice([""]+[tag("{%","else","%}")+block(d+1)])+tag("{%","endif","%}"))
        elif k==4 and d<3: out.append(tag("{%","for i in "+random.choice(["l","el","'ab'","range(2)"])+random.choice([""," if i"]),"%}")+block(d+1)+random.choice([""]*3+[tag("{%","else","%}")+block(d+1)])+tag("{%","endfor","%}"))
        elif k==5: out.append(tag("{%","set "+random.choice("xyz")+" = "+random.choice(["1","n","(x or 0)","l"]),"%}"))
        elif k==6: out.append(tag("{{",random.choice("xyz"),"}}"))
        elif k==7 and d<3: out.append(tag("{%","set "+random.choice("xyz"),"%}")+block(d+1)+tag("{%","endset","%}"))
        elif k==8 and d<2: out.append(tag("{%","macro "+random.choice("fg")+"(a=1)","%}")+block(d+1)+tag("{%","endmacro","%}"))
        elif k==9: out.append(random.choice([tag("{{",random.choice("fg")+"(2)","}}"),tag("{%","raw","%}")+"{{ x }}"+ws()+tag("{%","endraw","%}"),tag("{%","with x=5","%}")+ws()+"{{ x }}"+tag("{%","endwith","%}"),tag("{%","filter upper","%}")+ws()+"q"+tag("{%","endfilter","%}")]))
    out.append(ws())
    return "".join(out)

# What is known to differ, with its reason.
KNOWN = {
    "{{ (l|reverse)|upper }}", "{{ (l|reverse)|wordcount }}", "{{ (l|reverse)|string|length }}",  # addresses
    "{{ m.items() is filter }}{{ m.items() is not filter }}", "{{ m.items() is test }}{{ m.items() is not test }}",
    "{{ range(3)|urlencode }}", "{{ neg ** f }}", "{{ (u).swapcase() }}", "{% raw %}", "{#",
}

written = set()


def write(f, template):
    if template in written or template in KNOWN:
        return
    written.add(template)
    case = {"template": template}
    try:
        case["rendered"] = E.from_string(template).render(**json.loads(json.dumps(CTX)))
        if re.search(r"0x[0-9a-f]{6,}|<(built-in|bound|function|class|generator|list_rev)|undefined at", case["rendered"]):
            return
    except Exception as e:
        case["error"] = type(e).__name__ + ": " + str(e)
    f.write(json.dumps(case, ensure_ascii=False) + "\n")


with open("python.jsonl", "w") as f:
    f.write(json.dumps(CTX, ensure_ascii=False) + "\n")
    random.seed(1)
    crossed = random.sample(T[:CROSSED], 1000)
    for template in crossed + T[CROSSED:]:
        write(f, template)
    random.seed(5)
    for _ in range(600):
        template = block(0)
        # A name that the outermost scope assigns later is undefined in inner scopes before that; ours is not.
        if "z" not in template.replace("|", ""):
            write(f, template)
