"""NeedleBench V2: `suite` loads it, `hidden` draws the facts to hide, `texts` puts them into a long text."""
