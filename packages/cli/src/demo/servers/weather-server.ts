import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type HttpToolServer, type Refusal, startHttpToolServer } from "./http-tool-server.js";

/** A server that requires each request to be signed, which a helper does. */
export interface WeatherServer extends HttpToolServer {
  /** What the helper signs with. */
  readonly key: string;
}

const maxAgeMs = 60_000;
const weathers = ["sunny", "cloudy", "rain", "snow", "fog"];

export async function startWeatherServer(): Promise<WeatherServer> {
  const key = randomBytes(32).toString("hex");
  const server = await startHttpToolServer({
    name: "weather",
    tools: [
      {
        name: "forecast",
        description: "Returns the weather of a city",
        parameters: ["city"],
        call: ({ city }) => `${String(city)}: ${weathers[String(city).length % weathers.length]}`,
      },
    ],
    judge: (request) => judgeSignature(request, key),
  });
  return { ...server, key };
}

/** The signature of a time, as the helper makes it. */
export function signTime(time: string, key: string): string {
  return createHmac("sha256", key).update(time).digest("hex");
}

function judgeSignature({ headers }: IncomingMessage, key: string): Refusal | undefined {
  const time = String(headers["x-timestamp"] ?? "");
  const signature = Buffer.from(String(headers["x-signature"] ?? ""));
  const expected = Buffer.from(signTime(time, key));
  const isSigned = signature.length === expected.length && timingSafeEqual(signature, expected);
  const isFresh = Math.abs(Date.now() - Number(time)) < maxAgeMs;
  if (isSigned && isFresh) return undefined;
  return { status: 401, challenge: `Signature error="${isSigned ? "the time is too old" : "the signature is wrong"}"` };
}
