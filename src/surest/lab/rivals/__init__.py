"""Published algorithms, one file each, as their authors wrote them; docs/rivals.md says on what they rest."""
