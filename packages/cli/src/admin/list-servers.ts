import type { Server } from "@wirescope/gateway/admin";
import { ToolServerError } from "@wirescope/tool-server";
import type { AdminAtHand } from "./ask-gateway.js";
import { failureFrom } from "./ask-gateway.js";

/** The servers of the gateway that runs: the named one, or all. Rejects with SERVER_UNKNOWN. */
export async function listServers({ client, url }: AdminAtHand, name: string | undefined): Promise<readonly Server[]> {
  const all: Server[] = [];
  try {
    for (let pageToken: string | undefined; pageToken !== ""; ) {
      const page = await client.listServers({ pageToken: pageToken ?? "" });
      all.push(...page.servers);
      pageToken = page.nextPageToken;
    }
  } catch (error) {
    throw failureFrom(error, url);
  }
  const found = name === undefined ? all : all.filter((server) => server.name === name);
  if (name === undefined || found.length > 0) return found;
  const list = all.map((server) => server.name).join(", ") || "none";
  throw new ToolServerError(
    "SERVER_UNKNOWN",
    `There is no server ${JSON.stringify(name)} behind the gateway at ${url}. There are: ${list}.`,
  );
}
