/** Where a rule lies that this server does not keep. */
import { visible } from "../visible";
import { t } from "../messages";

/** In which file of the workspace it is kept, as the end of a clause; nothing where that is not known. */
export function lies({ keptIn }: { readonly keptIn?: string | null }): string {
  return keptIn == null ? "" : t(" in {0}", visible(keptIn));
}
