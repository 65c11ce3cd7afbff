import { objectOf, type RpcObject } from "./mcp-client.js";

export type OfferKind = "tool" | "resource" | "template" | "prompt";

/** A tool, resource, template or prompt that a server offers through the gateway. */
export interface Offer {
  readonly kind: OfferKind;
  /** Identifies it at the gateway: a name, a URI or a template. */
  readonly key: string;
  readonly server: string;
  /** The server's own name for it. */
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  readonly definition: RpcObject;
}

/** The server name that is shown for the gateway's own items. */
export const gatewayItself = "wirescope";

const fields: Readonly<Record<OfferKind, { readonly key: string; readonly list: string; readonly method: string }>> = {
  tool: { key: "name", list: "tools", method: "tools/list" },
  resource: { key: "uri", list: "resources", method: "resources/list" },
  template: { key: "uriTemplate", list: "resourceTemplates", method: "resources/templates/list" },
  prompt: { key: "name", list: "prompts", method: "prompts/list" },
};

export function listMethod(kind: OfferKind): string {
  return fields[kind].method;
}

/** The items of a list; those without a name or URI are omitted. */
export function offersOf(kind: OfferKind, result: RpcObject, originKey: string): readonly Offer[] {
  const list = result[fields[kind].list];
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown): Offer[] => {
    const definition = objectOf(item);
    const key = definition[fields[kind].key];
    if (typeof key !== "string") return [];
    const origin = objectOf(objectOf(definition._meta)[originKey]);
    const ownName = kind === "tool" || kind === "prompt" ? origin.name : definition.name;
    const title = definition.title ?? objectOf(definition.annotations).title;
    return [
      {
        kind,
        key,
        server: typeof origin.server === "string" ? origin.server : gatewayItself,
        name: typeof ownName === "string" && ownName !== "" ? ownName : key,
        title: typeof title === "string" && title !== "" ? title : undefined,
        description: typeof definition.description === "string" ? definition.description : "",
        definition,
      },
    ];
  });
}

/** Offers that contain every word of a search, in the order of the list. */
export function searchOffers(offers: readonly Offer[], search: string): readonly Offer[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return offers;
  return offers.filter(({ key, server, name, title = "", description }) => {
    const text = `${server} ${name} ${key} ${title} ${description.slice(0, 2000)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Offers by server, in the order in which the servers first appear. */
export function groupByServer(
  offers: readonly Offer[],
): readonly (readonly [server: string, offers: readonly Offer[]])[] {
  const groups = new Map<string, Offer[]>();
  for (const offer of offers) {
    const group = groups.get(offer.server);
    if (group === undefined) groups.set(offer.server, [offer]);
    else group.push(offer);
  }
  return [...groups];
}
