import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { get } from "node:http";
import type { HttpHandler } from "@wirescope/gateway";

/** The path at which a gateway proves that it wrote the gateway file. */
export const proofPath = "/.well-known/wirescope";

const maxLength = 128;

/** A key for one run of a gateway. It is stored in the gateway file and never sent. */
export function newProofKey(): string {
  return randomBytes(32).toString("base64url");
}

/** Responds to a challenge with an HMAC, which proves possession of the key. */
export function createProofPage(key: string): HttpHandler {
  return (request, response) => {
    const challenge = new URL(request.url ?? "/", "http://gateway").searchParams.get("challenge") ?? "";
    if (request.method !== "GET" || challenge === "" || challenge.length > maxLength) {
      response.writeHead(400, { "content-type": "text/plain" }).end("Send GET with a challenge.\n");
      return;
    }
    response.writeHead(200, { "content-type": "text/plain", "cache-control": "no-store" }).end(proofOf(key, challenge));
  };
}

/**
 * Whether the process that listens at a URL has the key; "silent" if it does not respond before the signal aborts. Without this check,
 * tokens could be sent to a program that took over the port of a gateway that was killed.
 */
export async function checkProof(url: string, key: string, signal: AbortSignal): Promise<boolean | "silent"> {
  const challenge = randomBytes(32).toString("base64url");
  const proof = await textAt(new URL(`${proofPath}?challenge=${challenge}`, url), signal);
  if (proof === undefined) return signal.aborted ? "silent" : false;
  return timingSafeEqual(digest(proof), digest(proofOf(key, challenge)));
}

function proofOf(key: string, challenge: string): string {
  return createHmac("sha256", key).update(`wirescope gateway\n${challenge}`).digest("base64url");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** A short response body, or undefined if none arrives until the signal aborts. */
function textAt(url: URL, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, signal }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > maxLength) request.destroy();
      });
      response.once("error", () => resolve(undefined));
      response.once("close", () => resolve(response.complete && response.statusCode === 200 ? text : undefined));
    });
    request.once("error", () => resolve(undefined));
  });
}
