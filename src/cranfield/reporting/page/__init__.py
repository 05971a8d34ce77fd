"""The report: one page of HTML that opens without a network and prints well."""
