import type { ExplainOptions } from "./explain-options.js";
import type { Explanation } from "./explanation.js";

/**
 * Walks a server from its entry to its last refusal, and tells what may be wrong, the likeliest first, and how to mend it. It reads
 * alone: it connects, asks for the list of tools, and looks at metadata; a token that has expired is renewed, as at any use. Nothing
 * of the entry runs or connects unless it is trusted. It ends within `totalMs`.
 *
 * Rejects with SERVER_UNKNOWN.
 */
export async function explainServer(options: ExplainOptions): Promise<Explanation> {
  // Fifty modules that only who asks why needs: a gateway should not start later for them.
  const { explainServer: explain } = await import("./explain-server.js");
  return explain(options);
}
