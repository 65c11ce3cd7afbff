import { isObject, type JsonObject } from "@wirescope/tool-server/internal";

/** What the gateway says that it can do for a server. Which client can, is seen when a server asks. */
export const offeredCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { context: {}, tools: {} },
  roots: {},
} as const;

/** The requests of servers that are passed on to clients. */
export function isPassedOn(method: string): boolean {
  return method === "elicitation/create" || method === "sampling/createMessage" || method === "roots/list";
}

/** Whether a client of these capabilities can answer such a request. */
export function canAnswer(capabilities: JsonObject, method: string, params: JsonObject | undefined): boolean {
  const { elicitation, sampling, roots } = capabilities;
  switch (method) {
    case "elicitation/create":
      if (!isObject(elicitation)) return false;
      // Who names no mode has the one that was there first.
      return params?.mode === "url" ? "url" in elicitation : "form" in elicitation || !("url" in elicitation);
    case "sampling/createMessage":
      if (!isObject(sampling)) return false;
      return (params?.tools === undefined && params?.toolChoice === undefined) || "tools" in sampling;
    case "roots/list":
      return isObject(roots);
    default:
      return false;
  }
}

/** Those capabilities of a client that are passed on to a server of the newer era with each request. */
export function passedOnCapabilities({ elicitation, sampling, roots }: JsonObject): JsonObject {
  return {
    ...(isObject(elicitation) ? { elicitation } : {}),
    ...(isObject(sampling) ? { sampling } : {}),
    ...(isObject(roots) ? { roots } : {}),
  };
}
