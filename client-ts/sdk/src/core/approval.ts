/**
 * What is sent when somebody chooses an option of a permission request.
 *
 * Owns that an option of a kind that this release does not know is never sent as consent: the option goes by its id, which a server
 * takes for the answer, and the decision beside it is "no" for whoever would read that alone. Shows nothing and asks nobody.
 */

import type { Decision, PermissionOption } from "./generated/types.js";
import { VALUES } from "./generated/values.js";

/** Whether this release knows what an option does. */
export function isKnownOption({ kind }: Pick<PermissionOption, "kind">): boolean {
  return VALUES.Decision.some((known) => known === kind);
}

/** The part of the params of `bb/approvePermission` that says which option was chosen. */
export function choiceOf({ kind, optionId }: PermissionOption): { readonly decision: Decision; readonly optionId: string } {
  return { decision: VALUES.Decision.find((known) => known === kind) ?? "deny", optionId };
}
