package release

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/release/signature"
	"bolt/store"
)

// Namespace is the namespace of the signatures of releases ("ssh-keygen -Y sign -n"). The document
// is signed as it is stored.
const Namespace = "bolt-release"

// Sign adds a signature to a release, and returns the fingerprint of its key. The signature must match the
// document. The signer need not be an allowed signer.
func (a *Archive) Sign(ctx context.Context, r *Release, armored string) (fingerprint string, err error) {
	armored = strings.TrimSpace(armored) + "\n"
	fingerprint, err = signature.Check(armored, r.Text, Namespace)
	if err != nil {
		return "", fault.New(Kind, "The release %s cannot be signed: %v", Short(r.ID), err)
	}
	s, err := a.load(ctx)
	if err != nil {
		return "", err
	}
	e := s.byID[r.ID]
	if e == nil {
		return "", &store.NotFoundError{Digest: r.ID}
	}
	for _, old := range e.Signatures {
		if old == armored {
			return fingerprint, nil
		}
	}
	return fingerprint, a.append(ctx, s, 0, event{Type: signed, Release: r.ID, Signature: armored})
}

// Admit returns a release that can be rolled out. If signers is not nil, one of its signatures must
// be of an allowed signer at the time now; principals are the allowed signers. If no signature is, the error is
// a *fault.Error.
func (a *Archive) Admit(ctx context.Context, e Entry, signers *signature.Signers, now time.Time) (r *Release, principals []string, err error) {
	if r, err = a.Get(ctx, e.ID); err != nil || signers == nil {
		return r, nil, err
	}
	if len(e.Signatures) == 0 {
		return nil, nil, hinted(fault.New(Kind, "The release %s is not signed.", Short(e.ID)),
			fmt.Sprintf("The setting releases.allowed-signers requires a signature. Sign it with \"bolt release sign %s --key FILE\".", Short(e.ID)))
	}
	var why []string
	for _, s := range e.Signatures {
		who, err := signers.Verify(s, r.Text, Namespace, now)
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		principals = append(principals, who)
	}
	if principals == nil {
		return nil, nil, fault.New(Kind, "The release %s has no signature of an allowed signer: %s.", Short(e.ID), strings.Join(why, "; "))
	}
	return r, principals, nil
}
