import type { Explanation } from "@wirescope/tool-server";
import type { AdminAtHand } from "./ask-gateway.js";
import { failureFrom } from "./ask-gateway.js";
import { explanationOf } from "./messages.js";

/** Has the gateway that runs walk a server. Rejects with SERVER_UNKNOWN. */
export async function explainThrough({ client, url }: AdminAtHand, server: string): Promise<Explanation> {
  try {
    return explanationOf(await client.explain({ server }));
  } catch (error) {
    throw failureFrom(error, url);
  }
}
