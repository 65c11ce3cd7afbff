import type { Offer } from "../shell/mcp/index.js";

/** The address of an offer in the page. The list next to it keeps its search. */
export function offerAddress({ kind, key }: Pick<Offer, "kind" | "key">, search = ""): string {
  const tab = kind === "tool" ? "tools" : kind === "prompt" ? "prompts" : "resources";
  const field = kind === "template" ? "template" : kind === "resource" ? "uri" : "name";
  return `/${tab}?${new URLSearchParams({ [field]: key, ...(search !== "" && { q: search }) })}`;
}
