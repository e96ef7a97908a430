# A preprocessor of mdBook: a link to a file outside the book becomes its text and its path.
def plain: gsub("\\[(?<text>[^\\]]*)\\]\\((\\.\\./)+(?<path>(bench|crates|deploy|schema|tests|[A-Z]+\\.)[^)]*)\\)"; "\(.text) (`\(.path)`)");
def chapters: map(if .Chapter then .Chapter.content |= plain | .Chapter.sub_items |= chapters else . end);
.[1] | .sections |= chapters
