import type { HttpResponse } from "./http-exchange.js";

/** Where the client goes away before its answer is there, that calls the request off. */
export function isCalledOffBy(response: HttpResponse, callOff: () => void): void {
  response.once("close", () => {
    if (!response.writableFinished) callOff();
  });
}
