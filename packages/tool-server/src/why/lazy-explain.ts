import type { ExplainOptions, Explanation } from "./explanation.js";

/**
 * Walks a server from its entry to its response, and explains what is wrong, the likeliest cause first, and how to fix it. It is
 * read-only: it connects, lists the tools and requests metadata; an expired token is renewed, as at any use. Nothing in the entry
 * runs or connects unless it is enabled and trusted. It ends within `totalMs`.
 *
 * Rejects with SERVER_UNKNOWN.
 */
export async function explainServer(options: ExplainOptions): Promise<Explanation> {
  // Loaded on first use, because it would delay the start of a gateway.
  const { walkAndExplain } = await import("./explain-server.js");
  return walkAndExplain(options);
}
