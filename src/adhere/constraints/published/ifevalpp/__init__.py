"""IFEval++: IFEval's kinds where its authors decide them otherwise."""
