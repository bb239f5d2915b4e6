package autoscaling

import (
	"context"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/test/e2e/framework"
)

type object = map[string]interface{}

// ScaledObjects stands in for the client of HPAs of a namespace: an HPA becomes a ScaledObject of the same numbers.
type ScaledObjects struct {
	Client    dynamic.Interface
	Namespace string
}

var scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// Create creates the ScaledObject, and returns the HPA as it was given.
func (s ScaledObjects) Create(ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, options metav1.CreateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	ref := hpa.Spec.ScaleTargetRef
	spec := object{
		"scaleTargetRef":  object{"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name},
		"minReplicaCount": int64(*hpa.Spec.MinReplicas), "maxReplicaCount": int64(hpa.Spec.MaxReplicas), "triggers": toTriggers(hpa.Spec.Metrics),
	}
	if hpa.Spec.Behavior != nil {
		behavior, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hpa.Spec.Behavior)
		framework.ExpectNoError(err)
		spec["advanced"] = object{"horizontalPodAutoscalerConfig": object{"behavior": behavior}}
		if down := hpa.Spec.Behavior.ScaleDown; down != nil && down.StabilizationWindowSeconds != nil && *hpa.Spec.MinReplicas == 0 {
			spec["cooldownPeriod"] = int64(*down.StabilizationWindowSeconds) // the wait before 0 replicas
		}
	}
	_, err := s.Client.Resource(scaledObjects).Namespace(s.Namespace).Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": object{"name": hpa.Name}, "spec": spec,
	}}, options)
	return hpa, err
}

// Delete deletes the ScaledObject.
func (s ScaledObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return s.Client.Resource(scaledObjects).Namespace(s.Namespace).Delete(ctx, name, options)
}

// Get returns an HPA whose condition ScaledToZero is true if the ScaledObject is not Active.
func (s ScaledObjects) Get(ctx context.Context, name string, options metav1.GetOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	scaled, err := s.Client.Resource(scaledObjects).Namespace(s.Namespace).Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	conditions, _, _ := unstructured.NestedSlice(scaled.Object, "status", "conditions")
	for _, one := range conditions {
		if c := one.(object); c["type"] == "Active" && c["status"] == "False" {
			hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScaledToZero, Status: v1.ConditionTrue}}
		}
	}
	return hpa, nil
}

func toTriggers(metrics []autoscalingv2.MetricSpec) (triggers []interface{}) {
	for _, metric := range metrics {
		switch {
		case metric.Resource != nil:
			triggers = append(triggers, toTrigger(string(metric.Resource.Name), metric.Resource.Target, object{}))
		case metric.ContainerResource != nil:
			triggers = append(triggers, toTrigger(string(metric.ContainerResource.Name), metric.ContainerResource.Target, object{"containerName": metric.ContainerResource.Container}))
		default: // the scenarios give no selector
			triggers = append(triggers, toTrigger("external-metric", metric.External.Target, object{"metricName": metric.External.Metric.Name}))
		}
	}
	return triggers
}

func toTrigger(kind string, target autoscalingv2.MetricTarget, metadata object) object {
	if target.AverageUtilization != nil {
		metadata["value"] = strconv.Itoa(int(*target.AverageUtilization))
	} else if target.AverageValue != nil {
		metadata["value"] = target.AverageValue.String()
	} else {
		metadata["value"] = target.Value.String()
	}
	return object{"type": kind, "metricType": string(target.Type), "metadata": metadata}
}

// clusterIP is the address of a service: pods of this cluster have no DNS.
func clusterIP(ctx context.Context, c clientset.Interface, namespace, name string) string {
	service, err := c.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	framework.ExpectNoError(err)
	return service.Spec.ClusterIP
}
