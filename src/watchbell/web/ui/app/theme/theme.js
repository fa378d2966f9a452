// Before anything is drawn: the theme that this reader chose, so that no page flashes in the other.
{
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
