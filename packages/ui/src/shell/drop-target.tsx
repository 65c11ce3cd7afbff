import "./drop-target.css";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { navigate } from "./routing/index.js";
import { openRecording, recordingError } from "./store/index.js";

/** Opens a recording that is dropped anywhere on the page. */
export function DropTarget(): VNode | null {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    addEventListener(
      "dragover",
      (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      },
      { signal },
    );
    addEventListener(
      "dragleave",
      (event) => {
        if (event.relatedTarget === null) setOver(false);
      },
      { signal },
    );
    addEventListener(
      "drop",
      (event) => {
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file === undefined) return;
        // Otherwise the browser would leave the page and show the file.
        event.preventDefault();
        void openRecording(file).then(() => {
          // The error is shown there.
          if (recordingError.peek() !== undefined) navigate("/history");
        });
      },
      { signal },
    );
    return () => controller.abort();
  }, []);
  return isOver ? <div class="drop-target">Drop a recording to open it</div> : null;
}
