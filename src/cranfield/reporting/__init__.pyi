from . import charts as charts
