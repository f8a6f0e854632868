//! Permissions answered wrongly, late, twice, from elsewhere, or for another folder than the one that was shown.
