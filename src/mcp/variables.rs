//! `${NAME}` in the values of a definition: variables of our own environment, by the user's word.
//!
//! Owns this syntax. What is taken is a secret from then on. Reads the environment by name only, and never without a definition that
//! names the variable.

use std::collections::BTreeMap;

use crate::domain::mcp::{McpDefinition, McpTransport};

/// The definition with its variables filled in, and the values that were taken.
///
/// # Errors
/// One sentence, when a variable is not set.
pub(super) fn filled_in(
    definition: McpDefinition,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(McpDefinition, Vec<String>), String> {
    let McpDefinition { name, transport } = definition;
    let mut taken = Vec::new();
    let transport = match transport {
        McpTransport::Stdio { command, args, env } => {
            McpTransport::Stdio { command, args, env: values(&name, env, variable, &mut taken)? }
        }
        McpTransport::Http { url, headers } => {
            McpTransport::Http { url, headers: values(&name, headers, variable, &mut taken)? }
        }
    };
    Ok((McpDefinition { name, transport }, taken))
}

fn values(
    server: &str,
    values: BTreeMap<String, String>,
    variable: &dyn Fn(&str) -> Option<String>,
    taken: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, String> {
    let fill = |(name, value): (String, String)| Ok((name, value_of(server, &value, variable, taken)?));
    values.into_iter().map(fill).collect()
}

fn value_of(
    server: &str,
    value: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    taken: &mut Vec<String>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let found = variable(name).filter(|found| !found.is_empty()).ok_or_else(|| {
            format!(
                "The tool server `{server}` needs the variable `{name}`, which is not set where breadboard-ls runs; set it and start \
                 the editor again."
            )
        })?;
        filled.push_str(before);
        filled.push_str(&found);
        taken.push(found);
        rest = behind;
    }
    filled.push_str(rest);
    if filled != value {
        // As a whole it may be written somewhere, too.
        taken.push(filled.clone());
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> Result<(String, Vec<String>), String> {
        let headers = BTreeMap::from([("Authorization".to_owned(), value.to_owned())]);
        let transport = McpTransport::Http { url: "https://h".to_owned(), headers };
        let definition = McpDefinition { name: "docs".to_owned(), transport };
        let known = |name: &str| (name == "TOKEN").then(|| "t-1".to_owned());
        let (filled, taken) = filled_in(definition, &known)?;
        let McpTransport::Http { headers, .. } = filled.transport else { panic!("is an address") };
        Ok((headers["Authorization"].clone(), taken))
    }

    #[test]
    fn a_variable_of_ours_stands_for_its_value_and_is_a_secret() {
        let whole = vec!["t-1".to_owned(), "Bearer t-1".to_owned()];
        assert_eq!(header("Bearer ${TOKEN}"), Ok(("Bearer t-1".to_owned(), whole.clone())));
        assert_eq!(header("Bearer ${env:TOKEN}"), Ok(("Bearer t-1".to_owned(), whole)));
        assert_eq!(header("plain $TOKEN ${"), Ok(("plain $TOKEN ${".to_owned(), vec![])));
        assert_eq!(
            header("${OTHER}"),
            Err("The tool server `docs` needs the variable `OTHER`, which is not set where breadboard-ls runs; set it and start \
                 the editor again."
                .to_owned())
        );
    }
}
