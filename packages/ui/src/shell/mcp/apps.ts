import { gatewayClient } from "./gateway-client.js";
import { objectOf } from "./mcp-client.js";

const maxLength = 8 * 1024 * 1024;

const maxOrigins = 16;
const maxOriginLength = 300;

/** The document of an app, and the origins that it declares, by the frame's directive. */
export interface AppDocument {
  readonly html: string;
  readonly origins: readonly (readonly [directive: "connect" | "resource" | "frame", origin: string])[];
}

/** Reads an app. Rejects if the resource is not HTML, or too large. */
export async function readApp(uri: string, signal: AbortSignal): Promise<AppDocument> {
  const { contents } = await gatewayClient.request("resources/read", { uri }, { signal });
  const { text, blob, mimeType, _meta } = objectOf(Array.isArray(contents) ? contents[0] : undefined);
  if (typeof mimeType !== "string" || !mimeType.startsWith("text/html")) {
    throw new Error(`The app cannot be shown: ${uri} is not an HTML document.`);
  }
  const html = typeof text === "string" ? text : typeof blob === "string" ? decodeBase64(blob) : "";
  if (html.length > maxLength) throw new Error(`The app cannot be shown: ${uri} is too large.`);
  const csp = objectOf(objectOf(objectOf(_meta).ui).csp);
  const declared = (directive: "connect" | "resource" | "frame"): AppDocument["origins"] => {
    const list = csp[`${directive}Domains`];
    const origins = Array.isArray(list) ? list.slice(0, maxOrigins) : [];
    return origins
      .filter((origin) => typeof origin === "string" && origin.length <= maxOriginLength)
      .map((origin: string) => [directive, origin] as const);
  };
  return { html, origins: [...declared("connect"), ...declared("resource"), ...declared("frame")] };
}

function decodeBase64(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
}
