/* Text that every reader of JSON takes: no NUL, no half of a surrogate pair; and text that is not
   longer than anybody wants to read. */
'use strict';

function clean(text) {
  if (text.includes('\0')) text = text.replaceAll('\0', '\\x00');
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/* Cut in the middle: the beginning and the end say most. */
function bound(text, limit) {
  if (text.length <= limit) return text;
  const half = limit >> 1;
  const left = text.length - 2 * half;
  return `${text.slice(0, half)}\n... ${left} characters left out ...\n${text.slice(-half)}`;
}

exports.clean = clean;
exports.bound = bound;
