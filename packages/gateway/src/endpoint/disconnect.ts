import type { HttpResponse } from "./event-streams.js";

/** Where the client goes away before its answer is there, that calls the request off. */
export function isCalledOffBy(response: HttpResponse, callOff: () => void): void {
  response.once("close", () => {
    if (!response.writableFinished) callOff();
  });
}
