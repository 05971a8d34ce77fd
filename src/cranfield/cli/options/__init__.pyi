from .campaigns import *
from .declaring import *
from .hints import *
from .judging import *
from .output import *
from .scores import *
from .signatures import *
from .studies import *
