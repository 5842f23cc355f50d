// Before the page is drawn: what needs scripts may show itself.
document.documentElement.classList.add("js");
