export { openRecording, type Recording } from "./recording.js";
export { createRecording, type RecordingOptions, type RecordingWriter } from "./recording-writer.js";
